"""Trains; a board in a process of its own shows the curve; every 25 steps a third program plays against the old model."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

board = subprocess.Popen([sys.executable, "board.py", "curve.jsonl"])
print(f"trainer pid {os.getpid()}, board pid {board.pid}", flush=True)
try:
    for step in range(1, 76):
        time.sleep(0.2)
        with Path("curve.jsonl").open("a") as curve:
            curve.write(json.dumps({"step": step, "loss": 1 / step}) + "\n")
        print(f"s{step:05d} loss={1 / step:.4f}", flush=True)
        if step % 25 == 0:
            rated = subprocess.run([sys.executable, "match.py", str(step)], capture_output=True, text=True, check=True)
            print(f"s{step:05d} elo={rated.stdout.strip()}", flush=True)
finally:
    board.terminate()
