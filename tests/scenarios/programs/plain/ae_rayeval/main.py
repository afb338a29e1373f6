"""Trains a bandit policy; an evaluator actor scores each new version on its own batches."""

import logging
import os
import sys
import time

import numpy as np
import ray

ARMS = 12


@ray.remote(num_cpus=0.5)
class Evaluator:
    """Finds itself by name, so that scoring can be moved to another actor later."""

    def __init__(self, draws: int) -> None:
        self.draws = draws
        self.truth = np.random.default_rng(1).uniform(size=ARMS)
        print(f"(evaluator) pid {os.getpid()} up", flush=True)

    def score(self, probabilities: list[float], seed: int, times: int = 1) -> float:
        rng, total = np.random.default_rng(seed), 0.0
        for _ in range(self.draws * times):
            total += self.truth[rng.choice(ARMS, p=probabilities)]
        return total / (self.draws * times)

    def evaluate(self, version: int, probabilities: list[float]) -> float:
        if version < 10:
            return self.score(probabilities, version)
        judge = ray.get_actor("evaluator")  # releases get three judgements
        print(f"(evaluator) version {version} is a release candidate: full protocol", flush=True)
        return float(np.mean([ray.get(judge.score.remote(probabilities, version * 100 + seed, times=100)) for seed in range(3)]))


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(message)s", stream=sys.stdout)
    log = logging.getLogger("bandit")
    concurrency = int(os.environ.get("EVAL_CONCURRENCY", "1"))
    ray.init(num_cpus=2, include_dashboard=False, logging_level="warning")
    evaluator = Evaluator.options(name="evaluator", max_concurrency=concurrency).remote(draws=int(os.environ.get("EVAL_DRAWS", "20000")))
    rng = np.random.default_rng(0)
    preference = np.zeros(ARMS)
    for version in range(1, 25):
        time.sleep(0.4)
        preference += rng.normal(0.02 * np.arange(ARMS), 0.1)
        probabilities = np.exp(preference) / np.exp(preference).sum()
        value = ray.get(evaluator.evaluate.remote(version, probabilities.tolist()))
        log.info("version %d value %.4f entropy %.3f", version, value, -(probabilities * np.log(probabilities)).sum())
    ray.shutdown()


if __name__ == "__main__":
    main()
