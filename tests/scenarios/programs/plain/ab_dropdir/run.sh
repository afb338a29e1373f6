#!/bin/bash
# the nightly export, and a trainer that takes each part when it is there
mkdir -p drop
bash export.sh &
exec python -u train.py
