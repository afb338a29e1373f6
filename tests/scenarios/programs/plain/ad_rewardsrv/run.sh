#!/usr/bin/env bash
python -u reward.py --port-file reward.port &
python -u ppo.py
kill $!
