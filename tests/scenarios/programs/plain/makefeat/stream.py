"""Sends the sentences of some shards through a named pipe."""

import os
import sys
from pathlib import Path

pipe, *shards = sys.argv[1:]
print(f"streaming {' '.join(shards)} (pid {os.getpid()})", flush=True)
with open(pipe, "w") as out:
    for shard in shards:
        out.write(Path(shard).read_text())
