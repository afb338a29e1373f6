"""A run like verl's on a real Ray cluster, or somebody else's job there.

    ray_job.py ADDRESS|local PIDS goes_on|hangs|detached [NAME]

PIDS: the file that gets the pids of its actors, one a line. `detached`: actors that outlive this driver, which waits for ever.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import ray

ADDRESS, PIDS, WAY = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
NAME = sys.argv[4] if len(sys.argv) > 4 else "WorkerDict"
RANKS, STEPS, HANGS_AT = 2, 400, 3


class Worker:
    def __init__(self, rank: int) -> None:
        self.rank = rank

    def pid(self) -> int:
        return os.getpid()

    def generate_sequences(self) -> int:
        time.sleep(0.05)
        return self.rank

    def update_actor(self, hangs: bool) -> int:
        if hangs and self.rank == 1:
            threading.Event().wait()
        return self.rank


Worker.__name__ = Worker.__qualname__ = NAME


def say(text: str) -> None:
    print(f"(TaskRunner pid={os.getpid()}) {text}", flush=True)


def main() -> None:
    if WAY != "detached":
        say("ray init kwargs: {'num_cpus': None}")
    if ADDRESS == "local":
        ray.init("local", num_cpus=1, include_dashboard=False, object_store_memory=100_000_000, log_to_driver=False)
    else:
        ray.init(address=ADDRESS, namespace=f"space{os.getpid()}", log_to_driver=False)
    remote = ray.remote(num_cpus=0)(Worker)
    life = {"lifetime": "detached"} if WAY == "detached" else {}
    ranks = []
    for rank in range(RANKS):
        variables = {"RANK": str(rank), "WORLD_SIZE": str(RANKS)}
        options = {"name": f"{NAME}_0:{rank}", "runtime_env": {"env_vars": variables}, **life}
        ranks.append(remote.options(**options).remote(rank))
    PIDS.write_text("".join(f"{pid}\n" for pid in ray.get([rank.pid.remote() for rank in ranks])))
    if WAY == "detached":
        stuck = [rank.update_actor.remote(True) for rank in ranks]
        print("UP", flush=True)
        ray.get(stuck)
    say(f"Size of train dataloader: {STEPS}")
    say(f"Total training steps: {STEPS}")
    say("Training from scratch")
    for step in range(1, STEPS * 100):
        ray.get([rank.generate_sequences.remote() for rank in ranks])
        ray.get([rank.update_actor.remote(WAY == "hangs" and step == HANGS_AT) for rank in ranks])
        say(f"step:{step} - actor/pg_loss:0.126 - perf/throughput:811.7 - timing_s/step:0.4")
        time.sleep(0.3)


main()
