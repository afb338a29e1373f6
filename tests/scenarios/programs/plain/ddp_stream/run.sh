#!/bin/bash
# The bucket, and three ranks.
python shard_server.py bucket.port &
bucket=$!
trap 'kill $bucket' EXIT
while [ ! -s bucket.port ]; do sleep 0.2; done
torchrun --standalone --nproc-per-node 3 train.py
