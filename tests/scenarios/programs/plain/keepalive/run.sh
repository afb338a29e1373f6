#!/usr/bin/env bash
export REWARD_PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python -u server.py $REWARD_PORT > reward_server.log 2>&1 &
sleep 3
torchrun --standalone --nproc_per_node=2 train.py
kill %1
