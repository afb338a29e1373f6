#!/bin/bash
set -o pipefail
python -u train.py --resume 2>&1 | tee -a train.log
