#!/bin/bash
# learner <- tunnel <- actor
read -r a b < <(python -c '
import socket
s, t = socket.socket(), socket.socket()
s.bind(("127.0.0.1", 0)); t.bind(("127.0.0.1", 0))
print(s.getsockname()[1], t.getsockname()[1])')
python learner.py "$a" &
sleep 1
python relay.py "$b" "$a" 3600 &
python actor.py "$b" &
wait
