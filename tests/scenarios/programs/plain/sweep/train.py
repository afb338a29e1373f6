"""One trial of a sweep: ridge regression by gradient descent, then a bootstrap of the test error."""

import argparse
import random


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def rows(count: int, seed: int) -> list[tuple[list[float], float]]:
    rng = random.Random(seed)
    truth = [rng.gauss(0, 1) for _ in range(20)]
    made = [[rng.gauss(0, 1) for _ in range(20)] for _ in range(count)]
    return [(x, dot(x, truth) + rng.gauss(0, 0.3)) for x in made]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--bootstrap", type=int, default=200)
    given = parser.parse_args()
    data = rows(600, given.seed)
    train, test = data[:500], data[500:]
    weights = [0.0] * 20
    for epoch in range(1, 31):
        for x, y in train:
            error = dot(weights, x) - y
            weights = [w - given.lr * (error * value + 1e-4 * w) for w, value in zip(weights, x, strict=True)]
        if epoch % 3 == 0:
            loss = sum((dot(weights, x) - y) ** 2 for x, y in train) / len(train)
            print(f"[seed {given.seed}] epoch {epoch}/30 train_mse={loss:.4f}", flush=True)
    rng = random.Random(given.seed)
    errors = []
    for _ in range(given.bootstrap):
        drawn = rng.choices(test, k=len(test))
        errors.append(sum((dot(weights, x) - y) ** 2 for x, y in drawn) / len(drawn))
    errors.sort()
    low, high = errors[len(errors) // 20], errors[-len(errors) // 20]
    print(f"[seed {given.seed}] training finished, test_mse 90% interval [{low:.4f}, {high:.4f}]", flush=True)


if __name__ == "__main__":
    main()
