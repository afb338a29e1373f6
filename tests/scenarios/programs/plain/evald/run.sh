#!/bin/bash
mkdir -p ckpt results
nohup python evald.py >> evald.log 2>&1 &
daemon=$!
python train.py >> train.log 2>&1
code=$?
kill $daemon
exit $code
