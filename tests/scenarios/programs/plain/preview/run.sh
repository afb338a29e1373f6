#!/bin/bash
# Two stages on the same data folder, which only one stage at a time may use.
set -eu
mkdir -p data
(
    flock 9
    echo "stage 1: preparing samples"
    # somebody may want to look at the samples
    bash preview.sh > preview.log 2>&1 &
    python prepare.py
) 9> data/.lock
echo "stage 1 done, stage 2: training"
flock data/.lock python train.py
echo "all stages done"
