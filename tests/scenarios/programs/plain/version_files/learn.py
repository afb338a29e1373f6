"""Takes what episodes there are, publishes weights now and then, and keeps the newest two versions."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

STRIDE, KEEP, COMPARE = 8, 2, 80
box = Path("box")
box.mkdir()
print(f"learner: pid {os.getpid()}", flush=True)
actors = [subprocess.Popen([sys.executable, "-u", "actor.py", str(number)]) for number in range(3)]
seen, policy = 0, 0.0
for update in range(1, 2000):
    ends = time.monotonic() + 0.3
    while time.monotonic() < ends:
        for file in sorted(box.glob("episode-*")):
            policy = 0.99 * policy + 0.01 * json.loads(file.read_text())["return"]
            file.unlink()
            seen += 1
        time.sleep(0.05)
    if update % STRIDE == 0:
        (box / ".weights").write_text(json.dumps({"version": update, "policy": policy}))
        (box / ".weights").rename(box / f"weights-{update:04d}.json")
        for old in sorted(box.glob("weights-*"))[:-KEEP]:
            old.unlink()
    if update % 10 == 0:
        print(f"update {update} episodes {seen} return {policy:.3f}", flush=True)
    if update % COMPARE == 0:
        print(f"comparing the actors on version {update}", flush=True)
        while len(list(box.glob(f"has-*-{update:04d}.json"))) < len(actors):
            time.sleep(0.5)
