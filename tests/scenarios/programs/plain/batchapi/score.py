"""Scores prompts: how many ways there are to write the number of each as a sum of squares. Longer prompts take longer."""

import json
import sys

scores = []
for size in json.loads(sys.argv[1]):
    ways = 0
    for a in range(size):
        for b in range(a, size):
            ways += (a * a + b * b) % 97 == 1
    scores.append(ways % 10)
print(json.dumps(scores))
