#!/usr/bin/env bash
# Both processes on this machine.
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export PORT JAX_PLATFORMS=cpu
python -u train.py 0 &
python -u train.py 1 &
wait
