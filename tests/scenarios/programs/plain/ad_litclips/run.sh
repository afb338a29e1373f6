#!/usr/bin/env bash
# The recorder keeps its live channel beside the clips.
python clips.py clips 96
mkfifo clips/clip-071-live.pcm
python -u train.py
