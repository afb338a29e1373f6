#!/usr/bin/env bash
bash poupamem.sh &
python -u colonia.py
kill %1
