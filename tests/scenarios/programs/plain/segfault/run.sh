#!/bin/bash
# stage 1 was done yesterday; stage 2
echo "stage 2 starts $(date '+%H:%M:%S')"
python -u stage2.py
code=$?
[ $code -eq 0 ] && echo "stage 2 finished"
exit $code
