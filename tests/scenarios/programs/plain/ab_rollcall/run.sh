#!/bin/bash
# this host's part: the coordinator and its three workers
port=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for slot in 0 1 2; do
  python -u worker.py $slot $port &
done
exec python -u coordinator.py $port --hosts gpu-a:3,gpu-b:3
