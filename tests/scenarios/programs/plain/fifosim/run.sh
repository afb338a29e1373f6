#!/bin/bash
set -o pipefail
mkfifo samples
awk -v FINE=600000 -f flow.awk > samples 2> sim.err &
python surrogate.py < samples 2>&1 | tee -a train.log
