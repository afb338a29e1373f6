#!/bin/bash
# nightly: prepare, train, evaluate; everything is appended to the one log
LOG=train.log
stamp() { date '+%F %T'; }

echo "$(stamp) night run $(hostname)" >> "$LOG"
python -u prepare.py 2>&1 | tee -a "$LOG" > /dev/null
python -u fit.py 2>&1 | tee -a "$LOG" > /dev/null
sleep "${PAUSE:-26}"
python -u evaluate.py >> "$LOG" 2>&1
echo "$(stamp) night run over" >> "$LOG"
