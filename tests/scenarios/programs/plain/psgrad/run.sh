#!/bin/bash
# one parameter server, four workers, one log
rm -f ps.sock
mkdir -p cache
python -u server.py --workers 4 --steps 400 &
for n in 0 1 2 3; do
  python -u worker.py $n &
done
wait
