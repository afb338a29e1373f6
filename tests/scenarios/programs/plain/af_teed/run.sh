#!/usr/bin/env bash
# everything that the run and its sampler say goes to the terminal and to train.log
set -o pipefail
python -u train.py 2>&1 | tee -a train.log
code=$?
echo "run.sh: train.py ended with $code" | tee -a train.log
exit $code
