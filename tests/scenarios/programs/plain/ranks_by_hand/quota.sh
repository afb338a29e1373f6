#!/bin/bash
# The quota of this machine: who has more than so many MB is parked until somebody lets it go on.
limit=$1
shift
while sleep 2; do
  for pid in "$@"; do
    kb=$(awk '/VmRSS/ {print $2}' "/proc/$pid/status" 2>/dev/null)
    if [ -n "$kb" ] && [ "$kb" -gt $((limit * 1024)) ]; then kill -STOP "$pid"; fi
  done
done
