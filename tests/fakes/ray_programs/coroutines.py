"""A driver that waits for an async actor whose coroutines sleep, as those do that ask a judge: it lives, and no stack shows that.

Usage: coroutines.py GCS_ADDRESS LOG. `ASKED` on stdout: all coroutines sleep, for as long as the test takes.
"""

from __future__ import annotations

import asyncio
import sys

import ray

GCS_ADDRESS, LOG = sys.argv[1], sys.argv[2]
LONG_S = 600.0


@ray.remote(num_cpus=0, max_concurrency=8)
class Judge:
    async def ask(self, question: int) -> int:
        await asyncio.sleep(LONG_S + question)
        return question

    async def ready(self) -> None:
        pass


def main() -> None:
    ray.init(address=GCS_ADDRESS, namespace="coroutines", log_to_driver=False)
    log = open(LOG, "a")  # noqa: SIM115 - held open until the end, as a run does
    judge = Judge.remote()
    ray.get(judge.ready.remote())
    print("step 1 reward 0.5", file=log, flush=True)
    answers = [judge.ask.remote(question) for question in range(4)]
    print("ASKED", flush=True)
    ray.get(answers)


main()
