#!/bin/bash
# Rollout server, judge, learner.
read -r one two < <(python - <<'P'
import socket
taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(each.getsockname()[1] for each in taken))
P
)
python -u rollout.py "$one" & a=$!
python -u judge.py "$two" & b=$!
trap 'kill $a $b' EXIT
python -u learner.py "$one" "$two"
