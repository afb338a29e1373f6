#!/bin/bash
# The desk as I like it: a pane for the training, and what I type there.
desk() { tmux -S "$PWD/desk.sock" -f /dev/null "$@"; }
desk new-session -d -x 140 -y 40 -s desk "bash --norc --noprofile"
sleep 1
desk send-keys -t desk "python -u segment.py --epochs 40 2>&1 | tee train.log" Enter
until grep -qs "epoch 3 .*done" train.log; do sleep 1; done
sleep 2
desk send-keys -t desk C-z
while desk has-session -t desk 2> /dev/null; do sleep 5; done
