"""Learns from what the actors left, and gives the gateway new weights."""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

port = sys.argv[1]
print(f"trainer: pid {os.getpid()}", flush=True)


def load(version: int) -> None:
    for _ in range(50):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/load", json.dumps({"version": version}).encode()) as answer:
                answer.read()
            return
        except urllib.error.URLError:
            time.sleep(0.3)
    raise SystemExit("no gateway")


for version in range(1, 500):
    files: list[Path] = []
    while len(files) < 5:
        time.sleep(0.1)
        files = sorted(path for path in Path("done").glob("*.json"))
    score = sum(sum(json.loads(path.read_text())["tokens"]) for path in files) / len(files)
    for path in files:
        path.unlink()
    load(version)
    print(f"trainer: iteration {version} score {score:.1f} from {len(files)} episodes", flush=True)
