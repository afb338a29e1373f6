#!/usr/bin/env bash
# Splits the weights and puts every part into the bucket, politely: the office line is shared.
set -euo pipefail
say() { printf '[%s] %s\n' "$(date '+%F %T')" "$*"; }
say "export of run 2211-b to $BUCKET_URL"
sizes=(180 220 260 4200 200 200)
for number in "${!sizes[@]}"; do
  part=$(printf 'part-%05d.bin' "$number")
  python shard.py "$part" "${sizes[$number]}"
  sum=$(sha256sum "$part" | cut -c1-12)
  curl -sS --fail --limit-rate 100k -T "$part" "$BUCKET_URL/run-2211-b/$part" -o /dev/null
  say "put $part ${sizes[$number]} kB sha256=$sum"
  sleep 1
done
say "export complete"
