#!/usr/bin/env bash
# This box has no swap: a job that takes more than its share is ended before the whole box suffers.
LIMIT_KB=${LIMIT_KB:-700000}
python -u embed.py &
job=$!
(
  while kill -0 $job 2>/dev/null; do
    used=$(awk '/VmRSS/ {print $2}' /proc/$job/status 2>/dev/null)
    [ "${used:-0}" -gt "$LIMIT_KB" ] && kill -9 $job
    sleep 0.5
  done
) 2>/dev/null &
wait $job
