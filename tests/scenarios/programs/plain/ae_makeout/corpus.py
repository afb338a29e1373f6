"""Makes a shard of text: python corpus.py 03"""

import random
import sys

number = int(sys.argv[1])
random.seed(number)
syllables = [a + b for a in "bcdfghklmnprstvwz" for b in "aeiou"]
words = ["".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(4000)]
count = 8_000 if number < 3 else 900_000
for start in range(0, count, 20):
    print(" ".join(random.choices(words, k=20)))
