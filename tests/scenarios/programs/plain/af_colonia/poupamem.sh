#!/usr/bin/env bash
# poupamem: every second, whoever of this user's colonia.py has more than 200 MB of its own is killed (the machine has no swap)
while sleep 1; do
  for pid in $(pgrep -s 0 -f colonia.py); do
    anon=$(awk '/RssAnon/ {print $2}' "/proc/$pid/status" 2>/dev/null)
    [ "${anon:-0}" -gt 204800 ] && kill -KILL "$pid" && echo "$(date +%T) killed $pid with $anon kB" >> poupamem.log
  done
done
