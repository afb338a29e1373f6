#!/bin/bash
port=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python -u server.py $port 4 &
for n in 0 1 2 3; do
  python -u worker.py $n http://127.0.0.1:$port &
done
wait -n
kill $(jobs -p)
