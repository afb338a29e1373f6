"""A fleet like verl's: ranks that all generate, then all update, where one rank never comes back from its update.

Usage: fleet.py GCS_ADDRESS RANKS STUCK_RANK. `FLEET HANGS` on stdout: all others are back.
"""

from __future__ import annotations

import os
import sys
import threading
import time

import ray

GCS_ADDRESS, RANKS, STUCK = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


@ray.remote(num_cpus=0)
class WorkerDict:
    def __init__(self) -> None:
        self.rank = int(os.environ["RANK"])

    def actor_rollout_generate_sequences(self) -> int:
        print(f"rank {self.rank} generates", flush=True)
        time.sleep(0.2)
        return self.rank

    def actor_rollout_update_actor(self) -> int:
        if self.rank == STUCK:
            threading.Event().wait()
        return self.rank


def main() -> None:
    ray.init(address=GCS_ADDRESS, namespace="fleet", log_to_driver=False)
    ranks = []
    for rank in range(RANKS):
        variables = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "WG_PREFIX": "abc123"}
        options = {"name": f"abc123WorkerDict_0:{rank}", "runtime_env": {"env_vars": variables}}
        ranks.append(WorkerDict.options(**options).remote())
    ray.get([rank.actor_rollout_generate_sequences.remote() for rank in ranks])
    print("FLEET READY", flush=True)
    updates = [rank.actor_rollout_update_actor.remote() for rank in ranks]
    ray.wait(updates, num_returns=RANKS - 1)
    print("FLEET HANGS", flush=True)
    ray.get(updates)


main()
