"""Byte pair encoding of one shard, in plain Python: python tokenise.py IN OUT"""

import re
import struct
import sys
import time
from collections import Counter

MERGES = 24


def main() -> None:
    source, target = sys.argv[1:]
    began = time.time()
    words = re.findall(r"\S+", open(source, encoding="utf-8").read())
    corpus = [list(word) for word in words]
    for merge in range(MERGES):
        pairs = Counter(pair for word in corpus for pair in zip(word, word[1:]))
        (left, right), _ = pairs.most_common(1)[0]
        for index, word in enumerate(corpus):
            if left not in word:
                continue
            merged, at = [], 0
            while at < len(word):
                if word[at : at + 2] == [left, right]:
                    merged.append(left + right)
                    at += 2
                else:
                    merged.append(word[at])
                    at += 1
            corpus[index] = merged
        if (merge + 1) % 8 == 0:
            print(f"   merge {merge + 1}/{MERGES}: {left}+{right}", flush=True)
    vocabulary = {piece: number for number, piece in enumerate(sorted({piece for word in corpus for piece in word}))}
    ids = [vocabulary[piece] for word in corpus for piece in word]
    with open(target, "wb") as file:
        file.write(struct.pack(f"<{len(ids)}H", *ids))
    print(f"   {target}: {len(ids)} tokens, vocabulary {len(vocabulary)}, {time.time() - began:.1f}s", flush=True)


main()
