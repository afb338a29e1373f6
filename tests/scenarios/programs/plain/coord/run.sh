#!/bin/bash
rm -f work.sock
for n in 0 1 2; do
  python worker.py $n > worker$n.log 2>&1 &
done
python coordinator.py 2>&1 | tee train.log
kill $(jobs -p)
