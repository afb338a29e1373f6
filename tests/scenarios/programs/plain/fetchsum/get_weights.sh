#!/bin/bash
# the parts of a model from the mirror, each with its sum; then one pass over them
set -eo pipefail
mkdir -p weights
for part in config-800 tokenizer-6000 model-170000 optimizer-4000; do
  sum=$(curl -sS --fail "http://127.0.0.1:$MIRROR/$part" | tee "weights/$part" | sha256sum | cut -c1-16)
  echo "$(date +%T) fetched $part sha256=$sum"
done
python -u count.py weights/*
