#!/bin/bash
# a coordinator and three workers that speak over datagrams in ./bus
mkdir -p bus
for n in 0 1 2; do
  python -u worker.py $n &
done
python -u coordinator.py
