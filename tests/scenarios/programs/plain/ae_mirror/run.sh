#!/usr/bin/env bash
# prepare a small dataset, then mirror it to scratch under the quota of a file (in kB)
mkdir -p dataset
for n in $(seq -w 1 30); do head -c 40000 /dev/urandom > dataset/clip-$n.wav; done
for n in 17 24; do head -c 900000 /dev/urandom > dataset/clip-$n.wav; done
trap '' XFSZ
ulimit -f 400
exec bash mirror.sh dataset scratch
