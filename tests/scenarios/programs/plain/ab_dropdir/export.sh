#!/bin/bash
# parts of the click log: first what is left of yesterday, then the big ones
part=1
for lines in 3000 3000 3000 900000 900000 900000; do
  python rows.py $part $lines > rows.$part
  sort -t, -k3,3n -k2,2 -S 8M -T . rows.$part | xz -9e -T1 > .part-$part.xz
  mv .part-$part.xz drop/part-$part.xz
  rm rows.$part
  part=$((part + 1))
done
