#!/bin/bash
# five nodes, one folder that all of them see
mkdir -p logs shared
for n in 2 0 1 3 4; do
  python -u node.py --id $n --nodes 5 > logs/node-$n.log 2>&1 &
  sleep 0.5
done
wait
