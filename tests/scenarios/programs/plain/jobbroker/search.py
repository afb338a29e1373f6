"""Cross-entropy search: twelve designs in a generation, the best three make the next one."""

import os
import random
import statistics

from lines import dial

GENERATIONS, POPULATION, ELITE, SIZE = 150, 12, 3, 6


def main() -> None:
    broker, rng = dial(), random.Random(4)
    mean, spread, number = [0.0] * SIZE, [0.5] * SIZE, 0
    print(f"[search] pid {os.getpid()}", flush=True)
    for generation in range(1, GENERATIONS + 1):
        designs = {}
        for _ in range(POPULATION):
            number += 1
            designs[number] = [rng.gauss(m, s) for m, s in zip(mean, spread)]
            broker.send(kind="submit", job={"id": number, "design": designs[number], "seed": 1000 * number})
        scores = {}
        while len(scores) < POPULATION:
            answer = broker.receive()
            scores[answer["job"]["id"]] = answer["score"]
        best = sorted(scores, key=scores.get)[-ELITE:]
        columns = list(zip(*(designs[id] for id in best)))
        mean = [statistics.mean(column) for column in columns]
        spread = [0.02 + 0.7 * statistics.pstdev(column) for column in columns]
        print(f"[search] gen {generation:03d}/{GENERATIONS} best {max(scores.values()):+.4f} spread {statistics.mean(spread):.4f}", flush=True)


if __name__ == "__main__":
    main()
