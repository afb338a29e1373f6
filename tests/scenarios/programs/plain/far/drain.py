"""Takes what comes through a named pipe and files it away, a few times; then the disk behind it does not answer any more."""

import argparse
import os
import tempfile
import threading
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--takes", type=int, required=True, help="bytes that are taken before the disk is away")
given = parser.parse_args()

path = Path(tempfile.mkdtemp(dir=".")).resolve() / "weights.pipe"
os.mkfifo(path)
print(path, flush=True)
taken = 0
with path.open("r+b", buffering=0) as pipe:
    while taken < given.takes:
        taken += len(pipe.read(16384))
    threading.Event().wait()
