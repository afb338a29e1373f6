#!/usr/bin/env bash
python -u answerd.py &
python -u bench.py --in-flight 4
kill $!
