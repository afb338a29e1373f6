#!/bin/bash
# fetch, tokenize, train: shard by shard, nothing is kept on disk
set -euo pipefail
for shard in 0 1 2 3; do
  bytes=$((shard % 2 == 1 ? 1500000 : 20000))
  curl -sS "$STORE_URL/web/shard-$shard-$bytes" | python -u fit.py "$shard"
done
echo "all shards done"
