"""Starts the training again after an error, at most three times."""

import subprocess
import sys
import time

for attempt in range(1, 5):
    print(f"[supervisor] attempt {attempt} of 4", flush=True)
    code = subprocess.run([sys.executable, "-u", "train.py", str(attempt)], check=False).returncode
    if code == 0:
        sys.exit(0)
    print(f"[supervisor] training failed with exit code {code}, next attempt in 3 s", flush=True)
    time.sleep(3)
sys.exit(1)
