#!/usr/bin/env bash
for rank in 0 1 2; do
  RANK=$rank python -u train.py &
done
wait
