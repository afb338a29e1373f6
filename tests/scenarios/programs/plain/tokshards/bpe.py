"""Byte pairs, as in the textbook: in each word the pair of the lowest rank is joined until none is known."""

import random
from pathlib import Path

LETTERS = "etaoinshrdlu"


def learn(path: Path) -> None:
    """Some merges; good enough for a smoke run."""
    rng, known, lines = random.Random(3), list(LETTERS), list[str]()
    while len(lines) < 400:
        left, right = rng.choice(known[:60]), rng.choice(known[:60])
        if left + right not in known:
            known.append(left + right)
            lines.append(f"{left} {right}")
    path.write_text("\n".join(lines) + "\n")


def load(path: Path) -> dict[tuple[str, str], int]:
    pairs = [line.split() for line in path.read_text().splitlines()]
    return {(left, right): rank for rank, (left, right) in enumerate(pairs)}


def encode(word: str, ranks: dict[tuple[str, str], int]) -> list[str]:
    parts = list(word)
    while len(parts) > 1:
        best = min(range(len(parts) - 1), key=lambda at: ranks.get((parts[at], parts[at + 1]), len(ranks)))
        if (parts[best], parts[best + 1]) not in ranks:
            break
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return parts
