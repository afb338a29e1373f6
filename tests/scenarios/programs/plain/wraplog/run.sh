#!/bin/bash
rm -f tracker.port
python tracker.py > tracker.log 2>&1 &
TRACKER=$!
trap 'kill $TRACKER' EXIT
until [ -s tracker.port ]; do sleep 0.2; done
python -u train.py 2>&1 | python -u stamp.py "http://127.0.0.1:$(cat tracker.port)"
