#!/usr/bin/env bash
mkdir -p ckpt
python -u pretrain.py > pretrain.log 2>&1 &
python -u evaluate.py > train.log 2>&1
wait
