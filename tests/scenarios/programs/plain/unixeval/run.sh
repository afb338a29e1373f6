#!/bin/bash
# Learner and evaluator, a window each when done by hand; here in the background, a log each.
mkdir -p logs ckpt
python -u evaluator.py --socket eval.sock > logs/evaluator.log 2>&1 &
evaluator=$!
python -u learner.py --socket eval.sock > logs/learner.log 2>&1
code=$?
kill $evaluator 2> /dev/null
exit $code
