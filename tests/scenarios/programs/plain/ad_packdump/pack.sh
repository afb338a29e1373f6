#!/usr/bin/env bash
# Trajectories of a week, sorted by player and packed for the archive.
set -euo pipefail
mkdir -p archive
for day in mon:20000 tue:26000 wed:30000 thu:480000 fri:24000; do
  name=${day%%:*} games=${day##*:}
  python -u dump.py "$games" | LC_ALL=C sort -k2,2 -k1,1n | xz -9e -T1 > "archive/$name.xz"
  echo "$(date +%s) packed $name $(stat -c %s "archive/$name.xz") bytes"
done
ls -l archive
