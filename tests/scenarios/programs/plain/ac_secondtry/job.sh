#!/usr/bin/env bash
# Three attempts at most.
for attempt in 1 2 3; do
    echo "+++ attempt $attempt of 3, host $(uname -n | cut -c1-3), $(date -u +%H:%M)"
    python -u train.py $attempt && exit 0
    echo "+++ attempt $attempt failed with exit code $?"
    sleep 1
done
exit 1
