#!/bin/bash
# One process a shard; each has its own log.
mkdir -p logs
export WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$1 PYTHONUNBUFFERED=1
PIDS=()
for RANK in 0 1 2; do
    RANK=$RANK python train.py > logs/rank$RANK.log 2>&1 &
    PIDS+=($!)
done
echo "launched ranks 0 1 2 as ${PIDS[*]}" > logs/launch.log
wait
echo "all ranks are done" >> logs/launch.log
