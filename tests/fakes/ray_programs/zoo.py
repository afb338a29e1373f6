"""Every state a Ray actor can be in, held until this process ends. Usage: zoo.py GCS_ADDRESS FLAG_FILE.

Actor names say what a reader should find: `busy`, `idle`, `asks_too_much` … `ZOO READY` on stdout means all states are reached
as far as Ray will let them be.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import ray

FOREVER_S = 1e6
GCS_ADDRESS, FLAG = sys.argv[1], Path(sys.argv[2])


@ray.remote(num_cpus=0)
class Idle:
    def ping(self) -> int:
        return os.getpid()


@ray.remote(num_cpus=0)
class Locked:
    """Waits for a lock that it holds itself."""

    def update_actor(self) -> None:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()


@ray.remote(num_cpus=0, resources={"NoSuchThing": 1})
class AsksTooMuch:
    pass


@ray.remote(num_cpus=0)
class NeedsArgument:
    def __init__(self, value: object) -> None:
        self.value = value


@ray.remote(num_cpus=0)
def never() -> None:
    time.sleep(FOREVER_S)


@ray.remote(num_cpus=0)
class SlowInit:
    def __init__(self) -> None:
        time.sleep(FOREVER_S)


@ray.remote(num_cpus=0, max_restarts=-1)
class Flaky:
    """The first life constructs at once, the second never ends constructing, so the state stays RESTARTING."""

    def __init__(self) -> None:
        if FLAG.exists():
            time.sleep(FOREVER_S)
        FLAG.touch()

    def pid(self) -> int:
        return os.getpid()


@ray.remote(num_cpus=0)
class Crash:
    def leave(self) -> None:
        os._exit(7)


@ray.remote(num_cpus=0)
class BadInit:
    def __init__(self) -> None:
        raise RuntimeError("model path not found")


def main() -> None:
    ray.init(address=GCS_ADDRESS, namespace="zoo", log_to_driver=False)
    idle = Idle.options(name="idle").remote()
    ray.get(idle.ping.remote())
    flaky = Flaky.options(name="restarting").remote()
    os.kill(ray.get(flaky.pid.remote()), 9)
    crash = Crash.options(name="crashed").remote()
    keep = [
        idle,
        flaky,
        crash,
        crash.leave.remote(),
        Locked.options(name="locked").remote().update_actor.remote(),
        AsksTooMuch.options(name="asks_too_much").remote(),
        NeedsArgument.options(name="needs_argument").remote(never.remote()),
        SlowInit.options(name="slow_init").remote(),
        BadInit.options(name="bad_init").remote(),
        ray.util.placement_group([{"NoSuchThing": 1}], name="infeasible_group"),
    ]
    while not FLAG.exists():
        time.sleep(0.1)
    print("ZOO READY", os.getpid(), flush=True)
    time.sleep(FOREVER_S)
    print(len(keep))


main()
