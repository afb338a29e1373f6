#!/bin/bash
# The corpus first, then the training.
set -e
python prep.py
echo "corpus is ready"
torchrun --standalone --nproc-per-node 2 train.py
