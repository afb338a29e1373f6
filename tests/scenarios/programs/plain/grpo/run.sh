#!/bin/bash
# Two rollout servers and the trainer, a log each.
set -m
mkdir -p logs
export PYTHONUNBUFFERED=1
pids=()
for n in 0 1; do
  python serve_policy.py --name "rollout-$n" --port-file "port$n.txt" > "logs/rollout_$n.log" 2>&1 &
  pids+=($!)
done
python train_grpo.py --servers 2 > logs/trainer.log 2>&1
code=$?
kill "${pids[@]}"
exit $code
