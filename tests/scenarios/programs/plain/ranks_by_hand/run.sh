#!/bin/bash
# Three ranks, a log each.
mkdir -p logs
pids=()
for n in 0 1 2; do
  python -u rank.py "$n" 3 > "logs/rank$n.log" 2>&1 &
  pids+=($!)
done
bash quota.sh 1000000 "${pids[@]}" &
guard=$!
for pid in "${pids[@]}"; do wait "$pid"; done
kill $guard
