"""For each word of the vocabulary its nearest others, by edit distance."""

import json
import sys
from pathlib import Path

import numpy as np

words = [word for word, _ in json.loads(Path(sys.argv[1]).read_text())][:1700]


def distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


table = np.zeros((len(words), len(words)), dtype=np.int16)
for i, word in enumerate(words):
    for j in range(i):
        table[i, j] = table[j, i] = distance(word, words[j])
np.savez(sys.argv[2], order=np.argsort(table, axis=1)[:, 1:9], table=table)
