"""One document a line; what has no text is told on stderr."""

import random
import sys

part = sys.argv[1]
source = random.Random(part)
for k in range(30000):
    if source.random() < 0.004:
        print(f"error: {part}/{k}.eml: UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9", file=sys.stderr)
        continue
    print(f"{part}-{k} " + "".join(source.choices("abcdefgh ", k=60)))
