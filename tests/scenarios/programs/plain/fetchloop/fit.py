"""Fits a bigram table to the lines of its standard input."""

import sys
import time
from collections import Counter

text = sys.stdin.buffer.read()
table: Counter[tuple[int, int]] = Counter(zip(text, text[1:], strict=False))
for step in range(15):
    time.sleep(0.2)
    table.update(zip(text[step:4000], text[step + 1 : 4001], strict=False))
    print(f"shard {sys.argv[1]} step {step}: {len(text)} bytes, {sum(table.values())} pairs", flush=True)
