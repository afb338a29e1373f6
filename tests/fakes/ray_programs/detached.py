"""Ranks that outlive their driver: detached actors. Its lines, on stdout, are Ray's own and those of a trainer.

Usage: detached.py GCS_ADDRESS RANKS. It trains until it is killed.
"""

from __future__ import annotations

import os
import sys
import time

import ray

GCS_ADDRESS, RANKS = sys.argv[1], int(sys.argv[2])
STEPS = 10_000
"""Of at least 0.3 s: 400 were at their end before the tests on a busy machine were."""


@ray.remote(num_cpus=0)
class WorkerDict:
    def __init__(self) -> None:
        self.rank = int(os.environ["RANK"])

    def train(self, step: int) -> None:
        print(f"rank {self.rank} of {RANKS} step {step}", flush=True)


def main() -> None:
    ray.init(GCS_ADDRESS, namespace="detached")
    ranks = []
    for rank in range(RANKS):
        variables = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "WG_PREFIX": "abc123"}
        options = {"name": f"abc123WorkerDict_0:{rank}", "lifetime": "detached", "runtime_env": {"env_vars": variables}}
        ranks.append(WorkerDict.options(**options).remote())
    print(f"Size of train dataloader: {STEPS}\nTotal training steps: {STEPS}\nTraining from scratch", flush=True)
    for step in range(1, STEPS):
        ray.get([rank.train.remote(step) for rank in ranks])
        print(f"step:{step} - actor/pg_loss:0.126 - perf/throughput:811.7 - timing_s/step:0.4", flush=True)
        time.sleep(0.3)


main()
