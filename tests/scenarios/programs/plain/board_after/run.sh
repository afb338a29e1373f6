#!/bin/bash
# Training, then the figures stay to be looked at until somebody ends this.
set -e
torchrun --standalone --nproc-per-node 2 train.py
echo "results at http://127.0.0.1/figures.json until you press Ctrl-C"
exec python -m http.server 0 --bind 127.0.0.1 > /dev/null 2>&1
