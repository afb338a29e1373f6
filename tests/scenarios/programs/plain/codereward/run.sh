#!/bin/bash
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python server.py "$PORT" > server.log 2>&1 &
SERVER=$!
trap 'kill $SERVER' EXIT
until curl -sf "http://127.0.0.1:$PORT/health" > /dev/null; do sleep 0.5; done
echo "reward server is up (pid $SERVER)"
python rollout.py "$PORT"
