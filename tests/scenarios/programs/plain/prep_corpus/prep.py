"""Splits the documents among processes, each of which learns the commonest pairs of its part and packs it."""

import os
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed

PARTS, WORKERS = 24, 3
LARGE = {17: 1_200_000}
"""Parts with a book in them; how many letters."""


def part(number):
    draw = random.Random(number)
    tokens = [draw.choice("etaoinshrdlu ") for _ in range(LARGE.get(number, 6000))]
    for _ in range(110):
        (one, two), _ = Counter(zip(tokens, tokens[1:])).most_common(1)[0]
        joined, at = [], 0
        while at < len(tokens):
            pair = at + 1 < len(tokens) and tokens[at] == one and tokens[at + 1] == two
            joined.append(one + two if pair else tokens[at])
            at += 2 if pair else 1
        tokens = joined
    with open(f"part{number:02d}.txt", "w") as file:
        file.write("\n".join(tokens))
    return number, len(tokens)


if __name__ == "__main__":
    print(f"prep: pid {os.getpid()}, {WORKERS} workers, {PARTS} parts", flush=True)
    with ProcessPoolExecutor(WORKERS) as pool:
        for done, future in enumerate(as_completed([pool.submit(part, number) for number in range(PARTS)]), 1):
            number, count = future.result()
            print(f"packed {done}/{PARTS}: part {number}, {count} tokens", flush=True)
