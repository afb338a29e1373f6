#!/bin/bash
# three workers on this node
export WORLD_SIZE=3 MASTER_PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for r in 0 1 2; do
  RANK=$r python -u worker.py &
done
wait
