"""Writes one shard of text in lower case, a sentence a line."""

import random
import sys
import time
from pathlib import Path

shard, target = int(sys.argv[1]), Path(sys.argv[2])
source = random.Random(shard)
syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
words = ["".join(source.choices(syllables, k=source.randint(1, 4))) for _ in range(900)]
time.sleep(0.4)
with target.open("w") as out:
    for _ in range(2500):
        out.write(" ".join(source.choices(words, k=12)) + "\n")
