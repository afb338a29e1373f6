#!/usr/bin/env bash
python -u board.py &
python -u evaluate.py
wait
