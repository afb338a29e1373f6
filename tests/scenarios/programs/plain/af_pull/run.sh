#!/usr/bin/env bash
# fetch the base weights (try again on trouble), then tune
set -u
say() { printf '%(%H:%M:%S)T %s\n' -1 "$*"; }
for try in 1 2 3 4 5; do
  say "fetch: try $try of 5"
  python -u fetch.py && break
  say "fetch: try $try failed ($?), next in 3 s"
  sleep 3
done
say "tune: start"
exec python -u tune.py
