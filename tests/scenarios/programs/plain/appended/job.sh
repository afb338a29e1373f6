#!/bin/bash
# resubmitted by the queue when it fails; one log for all attempts
echo "=== attempt $(($(grep -c '=== attempt' train.log) + 1)) on $(hostname) $(date '+%F %T')" >> train.log
python -u train.py >> train.log 2>&1
