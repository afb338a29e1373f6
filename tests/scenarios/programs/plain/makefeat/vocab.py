"""Counts the words that come through a named pipe."""

import json
import sys
from collections import Counter
from pathlib import Path

counts: Counter[str] = Counter()
lines = 0
with open(sys.argv[1]) as pipe:
    for line in pipe:
        counts.update(line.split())
        lines += 1
Path(sys.argv[2]).write_text(json.dumps(counts.most_common(2400)))
print(f"read {lines} lines from the stream, {len(counts)} words", flush=True)
