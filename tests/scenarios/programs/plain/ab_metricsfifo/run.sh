#!/bin/bash
# four ranks, and a daemon that takes their metrics from a named pipe; the metrics are put away now and then
mkfifo metrics.fifo
python -u metricsd.py metrics.fifo metrics.jsonl &
daemon=$!
touch metrics.jsonl
(
  until [ $(wc -l < metrics.jsonl) -gt 80 ]; do sleep 1; done
  bash putaway.sh $daemon
) 2> putaway.err &
for rank in 0 1 2 3; do
  RANK=$rank WORLD_SIZE=4 python -u train.py metrics.fifo &
  ranks="$ranks $!"
done
wait $ranks
