"""Writes the parts of the data: `prepare.py FIRST LAST`, each part for one process and one pass."""

import json
import random
import sys
from pathlib import Path

ROWS = {0: 240, 1: 240, 2: 240}

for part in range(int(sys.argv[1]), int(sys.argv[2]) + 1):
    for rank, rows in ROWS.items():
        numbers = random.Random(part * 10 + rank)
        lines = [json.dumps([round(numbers.gauss(0, 1), 4) for _ in range(16)]) for _ in range(rows)]
        Path(f"part-{part}-{rank}.tmp").write_text("\n".join(lines))
        Path(f"part-{part}-{rank}.tmp").rename(f"part-{part}-{rank}.jsonl")
