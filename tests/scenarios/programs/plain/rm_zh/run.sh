#!/bin/bash
# 打分服务和训练
port=$(python -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
python -u score.py "$port" & server=$!
trap 'kill $server' EXIT
python -u tune.py "$port"
