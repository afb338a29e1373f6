#!/bin/bash
# reward model, three samplers, trainer; each with a log of its own
mkdir -p logs
python -u reward.py > logs/reward.log 2>&1 &
for n in 0 1 2; do
  python -u sampler.py $n > logs/sampler-$n.log 2>&1 &
done
python -u trainer.py > logs/trainer.log 2>&1
