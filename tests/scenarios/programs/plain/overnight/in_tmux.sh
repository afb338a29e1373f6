#!/bin/bash
# So that it outlives the connection: the job has a terminal of its own, and a copy of what it says is in train.log.
tmux -S "$PWD/desk.sock" -f /dev/null new-session -d -x 120 -y 40 -s night "bash overnight.sh 2>&1 | tee train.log; tmux -S '$PWD/desk.sock' wait-for -S over"
tmux -S "$PWD/desk.sock" wait-for over
