"""Cross-validation of a forest of stumps, five folds on two processes, for a few depths."""

import random
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

Row = tuple[list[float], int]


def table(count: int) -> list[Row]:
    rng = random.Random(0)
    rows = []
    for _ in range(count):
        x = [rng.random() for _ in range(8)]
        rows.append((x, int(x[0] + x[3] * x[5] > 0.8)))
    return rows


def stump(rows: list[Row], rng: random.Random) -> tuple[int, float, int]:
    """The best of some cuts on a sample of the rows."""
    best = (-1, 0, 0.0, 0)
    sample = rng.choices(rows, k=len(rows) // 2)
    for _ in range(10):
        feature, cut = rng.randrange(8), rng.random()
        right = sum((x[feature] > cut) == bool(y) for x, y in sample)
        best = max(best, (right, feature, cut, 1), (len(sample) - right, feature, cut, 0))
    return best[1:]


def fold(rows: list[Row], number: int, trees: int) -> tuple[int, float]:
    rng = random.Random(number)
    held, kept = rows[number::5], [row for place, row in enumerate(rows) if place % 5 != number]
    forest = [stump(kept, rng) for _ in range(trees)]
    right = 0
    for x, y in held:
        votes = sum((x[feature] > cut) == bool(side) for feature, cut, side in forest)
        right += int((votes * 2 > len(forest)) == bool(y))
    return number, right / len(held)


def main() -> None:
    rows = table(6000)
    for trees in (10, 20, 3500):
        began = time.time()
        with ProcessPoolExecutor(max_workers=2) as pool:
            todo = [pool.submit(fold, rows, number, trees) for number in range(5)]
            scores = []
            for done in as_completed(todo):
                number, score = done.result()
                scores.append(score)
                print(f"trees={trees:<4d} fold {number}: accuracy {score:.3f}", flush=True)
        print(f"trees={trees:<4d} mean {sum(scores) / 5:.3f} in {time.time() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
