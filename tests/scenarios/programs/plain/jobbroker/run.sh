#!/bin/bash
# a broker, three simulators, and the search that uses them
rm -f broker.port
python -u broker.py &
broker=$!
for n in 0 1 2; do
  python -u simulator.py $n &
done
python -u search.py
code=$?
kill $broker
exit $code
