#!/bin/bash
# metrics go to a small tracker beside the job
python -u tracker.py --port-file tracker.port &
tracker=$!
torchrun --nproc-per-node 3 train_tagger.py --tracker tracker.port
code=$?
kill $tracker
exit $code
