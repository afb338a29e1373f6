#!/bin/bash
# Three seeds, one after the other; what comes out is packed for the file server.
mkdir -p out
for seed in 1 2 3; do
    echo "=== seed $seed, $(date '+%H:%M:%S'), shell $$"
    python -u fit.py --seed $seed --out out/model.bin || exit 1
    echo "packing out/model.bin"
    zstd -9 out/model.bin -o out/model.bin.zst
done
echo "=== all seeds done"
