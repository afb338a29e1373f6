#!/bin/bash
# as srun would start them
export MASTER_PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for r in 0 1 2 3; do
  SLURM_STEP_ID=0 SLURM_PROCID=$r SLURM_NTASKS=4 python train.py &
done
wait
