#!/bin/bash
# goes on from the last checkpoint; the merges are made again when --fresh is given
python -u train_lm.py --resume 400 --fresh
code=$?
[ $code = 0 ] || echo "run.sh: train_lm.py failed with code $code after $((SECONDS / 60)) min"
exit $code
