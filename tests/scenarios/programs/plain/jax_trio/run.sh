#!/bin/bash
# Three processes of JAX on one machine.
port=$(python -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
export JAX_PLATFORMS=cpu
for id in 1 2; do python -u train.py "$port" $id & done
python -u train.py "$port" 0
wait
