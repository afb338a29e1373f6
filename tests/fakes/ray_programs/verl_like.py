"""A run like verl's whose ranks are Ray actors: its first life hangs at its third step, later ones go on.

Usage: verl_like.py FLAG RANKS STUCK_RANK. RAY_ADDRESS names the cluster. FLAG is made by the life that hangs. Its lines, on
stdout, are those of verl's trainer, with what a task runner puts in front.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import ray

FLAG, RANKS, STUCK = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
HANGS_AT, STEPS = 3, 400


@ray.remote(num_cpus=0)
class WorkerDict:
    def __init__(self) -> None:
        self.rank = int(os.environ["RANK"])

    def actor_rollout_generate_sequences(self) -> int:
        time.sleep(0.1)
        return self.rank

    def actor_rollout_update_actor(self, hangs: bool) -> int:
        if hangs and self.rank == STUCK:
            threading.Event().wait()
        return self.rank


def say(text: str) -> None:
    print(f"(TaskRunner pid={os.getpid()}) {text}", flush=True)


def main() -> None:
    first_life = not FLAG.exists()
    FLAG.touch()
    say("ray init kwargs: {'num_cpus': None}")
    ray.init(namespace=f"verl{os.getpid()}", log_to_driver=False)
    say(f"Size of train dataloader: {STEPS}")
    say(f"Total training steps: {STEPS}")
    ranks = []
    for rank in range(RANKS):
        variables = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "WG_PREFIX": "abc123"}
        options = {"name": f"abc123WorkerDict_0:{rank}", "runtime_env": {"env_vars": variables}}
        ranks.append(WorkerDict.options(**options).remote())
    say("Training from scratch")
    for step in range(1, STEPS + 1):
        ray.get([rank.actor_rollout_generate_sequences.remote() for rank in ranks])
        ray.get([rank.actor_rollout_update_actor.remote(first_life and step == HANGS_AT) for rank in ranks])
        say(f"step:{step} - actor/pg_loss:0.126 - perf/throughput:811.7 - timing_s/step:0.4")
        time.sleep(0.3)


main()
