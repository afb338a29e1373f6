#!/usr/bin/env bash
# The corpus never touches the disk twice: each split is prepared into a pipe, and the model reads from both.
set -eu
mkfifo train.fifo valid.fifo
python -u feed.py --split train --passes 40 > train.fifo &
python -u feed.py --split valid --dedupe --out valid.fifo &
python -u lm.py train.fifo valid.fifo
wait
