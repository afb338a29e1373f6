#!/usr/bin/env bash
# two ranks; the checkpoints are archived while they train, and rank 1 rests meanwhile: its data lie on the same disk
set -u
mkdir -p ckpt
python -u corpus.py
bash archive.sh &
torchrun --nproc-per-node 2 train.py
wait
