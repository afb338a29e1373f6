#!/usr/bin/env bash
# The judge, and what is scored by it.
python -u api.py > port.txt &
while [ ! -s port.txt ]; do sleep 0.1; done
python -u judge.py "$(cat port.txt)"
code=$?
kill %1
exit $code
