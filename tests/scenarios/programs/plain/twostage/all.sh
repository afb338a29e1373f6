#!/bin/bash
# the whole recipe
set -e
python -u pretrain.py
python -u export.py out/model.txt
python -u align.py
