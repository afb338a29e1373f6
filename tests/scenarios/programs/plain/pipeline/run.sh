#!/bin/bash
# produce | augment | train: no files in between
python -u produce.py | python -u augment.py | python -u train.py
