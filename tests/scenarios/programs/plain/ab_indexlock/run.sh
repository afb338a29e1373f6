#!/bin/bash
# a judge, an evaluator that asks it, three ranks; ranks and evaluator write into one file of results, under its lock
port=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
touch results.tsv
python -u judge.py $port &
python -u evaluate.py $port &
for rank in 2 1; do
  RANK=$rank python -u train.py &
done
RANK=0 exec python -u train.py
