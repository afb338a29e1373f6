"""Write a split, a sentence a line. With --dedupe what is nearly said before is left out first."""

import argparse
import os
import random
import sys

WORDS = [f"{a}{b}" for a in ("ba", "ko", "ri", "sul", "ten", "mo", "za") for b in ("", "n", "r", "lo", "mi", "ka", "tu")]


def sentences(split: str, count: int) -> list[str]:
    rng = random.Random(split)
    return [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(4, 16))) for _ in range(count)]


def grams(sentence: str) -> frozenset[str]:
    return frozenset(sentence[n : n + 4] for n in range(len(sentence) - 3))


def unlike(lines: list[str], limit: float = 0.55) -> list[str]:
    """Keeps the first of those that share more than `limit` of their letters' fours."""
    kept: list[tuple[str, frozenset[str]]] = []
    for line in lines:
        own = grams(line)
        if all(len(own & other) < limit * len(own | other) for _, other in kept):
            kept.append((line, own))
    return [line for line, _ in kept]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--split", required=True)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--dedupe", action="store_true")
    parser.add_argument("--out")
    given = parser.parse_args()
    print(f"feed {given.split}: pid {os.getpid()}", file=sys.stderr)
    lines = sentences(given.split, 5200)
    if given.dedupe:
        lines = unlike(lines)
    with open(given.out, "w", encoding="utf-8") if given.out else sys.stdout as out:
        for _ in range(given.passes):
            for line in lines:
                print(line, file=out)


main()
