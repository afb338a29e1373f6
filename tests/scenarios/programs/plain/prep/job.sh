#!/bin/bash
# n-grams, sorted by the disk, then counted, then a model of them
set -eo pipefail
export LC_ALL=C TMPDIR=.
echo "[prep] $(date +%F) writing n-grams"
for part in 1 2 3; do
  awk -v seed=$part 'BEGIN { srand(seed); for (i = 0; i < 150000; i++) printf "%07d%05d %d\n", rand() * 10000000, rand() * 90000, i }' > grams.$part
  echo "[prep] part $part: $(wc -l < grams.$part) lines"
done
echo "[prep] sorting n-grams"
for round in 1 2 3 4 5 6 7 8 9; do cat grams.1 grams.2 grams.3; done | sort -S 4M --parallel=1 -k 1,1 | uniq -c -w 9 | xz -7 -T1 > sorted.xz
echo "[prep] sorted: $(stat -c %s sorted.xz) bytes"
exec python -u model.py
