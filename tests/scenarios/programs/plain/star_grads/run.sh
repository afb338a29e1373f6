#!/bin/bash
# One that averages, three that learn.
port=$(python -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
for rank in 0 1 2 3; do RANK=$rank python -u learn.py "$port" & done
wait
echo "all ranks have ended"
