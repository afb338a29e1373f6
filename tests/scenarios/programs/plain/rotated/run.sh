#!/bin/bash
# Everything that training says goes through the rotation; a desk beside it tells of each part that is full.
mkfifo parts
(for _ in 1 2 3; do read -r part < parts && echo "$part" >> desk.txt; done) &
python -u train.py 2>&1 | python -u rotate.py
wait
