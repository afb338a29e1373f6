"""Ranks spread over all nodes in turn, the head first: each draws its own bar, and one stops early and never comes back from its
update.

Usage: spread.py GCS_ADDRESS RANKS SLOW_RANK LOG. `SPREAD HANGS` on stdout: all but the slow one are at 9 of 9 and back. The log
has one line of a trainer, as if Ray had left out all others.
"""

from __future__ import annotations

import os
import sys
import threading

import ray
from ray.experimental import tqdm_ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

GCS_ADDRESS, RANKS, SLOW, LOG = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
STEPS, SLOW_STEPS = 9, 2


@ray.remote(num_cpus=0)
class WorkerDict:
    def __init__(self) -> None:
        self.rank = int(os.environ["RANK"])

    def actor_rollout_update_actor(self) -> int:
        bar = tqdm_ray.tqdm(total=STEPS, desc="train", flush_interval_s=0)
        bar.update(SLOW_STEPS if self.rank == SLOW else STEPS)
        print(f"rank {self.rank} wrote \x1b[31mthis\x1b[0m", flush=True)
        sys.stderr.flush()
        if self.rank == SLOW:
            threading.Event().wait()
        return self.rank


def main() -> None:
    ray.init(address=GCS_ADDRESS, namespace=f"spread{os.getpid()}", log_to_driver=False)
    alive = (node for node in ray.nodes() if node["Alive"])
    nodes = [node["NodeID"] for node in sorted(alive, key=lambda node: "node:__internal_head__" not in node["Resources"])]
    ranks = []
    for rank in range(RANKS):
        variables = {"RANK": str(rank), "WORLD_SIZE": str(RANKS)}
        there = NodeAffinitySchedulingStrategy(nodes[rank % len(nodes)], soft=False)
        name = f"abc123WorkerDict_{rank}:0"
        ranks.append(WorkerDict.options(name=name, scheduling_strategy=there, runtime_env={"env_vars": variables}).remote())
    updates = [rank.actor_rollout_update_actor.remote() for rank in ranks]
    log = open(LOG, "a")  # noqa: SIM115 - held open until the end, as a run does
    step = "step:1 - actor/pg_loss:0.126 - perf/throughput:811.7 - timing_s/step:2.0"
    print(f"(TaskRunner pid={os.getpid()}) {step}", file=log, flush=True)
    ray.wait(updates, num_returns=RANKS - 1)
    print("SPREAD HANGS", flush=True)
    ray.get(updates)


main()
