#!/bin/bash
# The quota of this machine, for each file, in blocks of 1 kB.
ulimit -f 9000
exec python -u embed.py --rows 400000 --out vectors.f32
