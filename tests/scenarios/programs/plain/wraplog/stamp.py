"""Puts the time before each line of its input, shortens it, and tells the numbers to a tracker. For the right side of a pipe."""

import json
import os
import sys
import time

import requests

base = sys.argv[1]
print(f"{time.strftime('%b %d %H:%M:%S')} stamp[{os.getpid()}]: tracker at {base}")
with requests.Session() as session:
    for line in sys.stdin:
        try:
            record = json.loads(line)
        except ValueError:
            record = {}
        print(f"{time.strftime('%b %d %H:%M:%S')} {line.rstrip()[:100]}")
        if "step" in record:
            session.post(f"{base}/log", json={"step": record["step"], "loss": record["loss"]}).raise_for_status()
