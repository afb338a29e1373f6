"""Ranks that draw their bars with tqdm_ray, and one of them stops early. The driver tells nothing of it but that they train.

Usage: bars.py GCS_ADDRESS RANKS SLOW_RANK LOG. `BARS DRAWN` on stdout: all but the slow one are at 9 of 9, it is at 2.
"""

from __future__ import annotations

import os
import sys
import threading

import ray
from ray.experimental import tqdm_ray

GCS_ADDRESS, RANKS, SLOW, LOG = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
STEPS, SLOW_STEPS = 9, 2


@ray.remote(num_cpus=0)
class WorkerDict:
    def __init__(self) -> None:
        self.rank = int(os.environ["RANK"])

    def train(self) -> None:
        bar = tqdm_ray.tqdm(total=STEPS, desc="train", flush_interval_s=0)
        bar.update(SLOW_STEPS if self.rank == SLOW else STEPS)
        sys.stdout.flush()

    def wait(self) -> None:
        threading.Event().wait()


def main() -> None:
    ray.init(address=GCS_ADDRESS, namespace=f"bars{os.getpid()}", log_to_driver=False)
    ranks = []
    for rank in range(RANKS):
        variables = {"RANK": str(rank), "WORLD_SIZE": str(RANKS)}
        ranks.append(WorkerDict.options(runtime_env={"env_vars": variables}).remote())
    log = open(LOG, "a")  # noqa: SIM115 - held open until the end, as a run does
    print(f"(TaskRunner pid={os.getpid()}) Starting training loop...", file=log, flush=True)
    ray.get([rank.train.remote() for rank in ranks])
    print("BARS DRAWN", flush=True)
    ray.get(ranks[SLOW].wait.remote())


main()
