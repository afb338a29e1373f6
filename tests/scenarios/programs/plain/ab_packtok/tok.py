"""Learns 120 merges on one shard, and writes its tokens."""

import sys
from collections import Counter

name = sys.argv[1]
with open(f"{name}.txt") as source:
    words = [list(word) for line in source for word in line.split()]
for _ in range(120):
    pairs: Counter[tuple[str, str]] = Counter()
    for word in words:
        pairs.update(zip(word, word[1:], strict=False))
    if not pairs:
        break
    (left, right), _ = pairs.most_common(1)[0]
    for word in words:
        index = 0
        while index < len(word) - 1:
            if word[index] == left and word[index + 1] == right:
                word[index : index + 2] = [left + right]
            index += 1
with open(f"{name}.tok", "w") as out:
    out.writelines(" ".join(word) + "\n" for word in words)
print(f"shard {name} done, {sum(map(len, words))} tokens", flush=True)
