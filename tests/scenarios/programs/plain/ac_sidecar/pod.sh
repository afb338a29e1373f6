#!/usr/bin/env bash
# The job and its sidecar; the pod goes when the sidecar does.
python -u sidecar.py &
python -u fit.py
wait
