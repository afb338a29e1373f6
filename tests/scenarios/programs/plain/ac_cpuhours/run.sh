#!/usr/bin/env bash
# Three ranks, a log each. Nobody may take more of the processor than the queue allows.
mkdir -p exchange logs
ulimit -t 9
export OPENBLAS_NUM_THREADS=1
for rank in 0 1 2; do
    python -u rank.py $rank 3 > logs/rank$rank.log 2>&1 &
done
wait
