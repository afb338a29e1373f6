#!/bin/bash
# The trainer and three workers, one log.
export PYTHONUNBUFFERED=1
rm -rf weights played
python trainer.py 3 &
for n in 0 1 2; do python worker.py $n & done
wait -n
code=$?
kill $(jobs -p)
exit $code
