"""A fleet like verl's: ranks that all generate, then all update, where one rank never comes back from its update.

Usage: fleet.py GCS_ADDRESS RANKS STUCK_RANK [LOG]. `FLEET HANGS` on stdout: all others are back. LOG gets the lines of a
trainer, alone; stdout also has warnings of Ray, such as on many workers for few cores.
"""

from __future__ import annotations

import os
import sys
import threading
import time

import ray

GCS_ADDRESS, RANKS, STUCK = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
LOG = sys.argv[4] if len(sys.argv) > 4 else os.devnull


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
    ray.init(address=GCS_ADDRESS, namespace=f"fleet{os.getpid()}", log_to_driver=False)
    ranks = []
    for rank in range(RANKS):
        variables = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "WG_PREFIX": "abc123"}
        options = {"name": f"abc123WorkerDict_0:{rank}", "runtime_env": {"env_vars": variables}}
        ranks.append(WorkerDict.options(**options).remote())
    ray.get([rank.actor_rollout_generate_sequences.remote() for rank in ranks])
    log = open(LOG, "a")  # noqa: SIM115 - held open until the end, as a run does
    step = "step:1 - actor/pg_loss:0.126 - perf/throughput:811.7 - timing_s/step:2.0"
    print(f"(TaskRunner pid={os.getpid()}) {step}", file=log, flush=True)
    print("FLEET READY", flush=True)
    updates = [rank.actor_rollout_update_actor.remote() for rank in ranks]
    ray.wait(updates, num_returns=RANKS - 1)
    print("FLEET HANGS", flush=True)
    ray.get(updates)


main()
