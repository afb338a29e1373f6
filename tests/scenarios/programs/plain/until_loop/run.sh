#!/bin/bash
# the store is slow to come up after maintenance: try until it is there, then train
try=1
until python -u fetch.py start.bin; do
  pause=$((try < 3 ? 2 : 55))
  echo "fetch failed (try $try), next try in $pause s"
  sleep $pause
  try=$((try + 1))
done
python -u train.py start.bin
