"""Ray: three producers put documents into a queue, one packer makes shards of them and, every tenth shard, one index of all."""

import os
import random
import resource
import signal
import time

import ray
from ray.util.queue import Queue

PRODUCERS, DOCUMENTS, PER_SHARD = 3, 500, 30
MEMORY_MB = int(os.environ.get("PACKER_MEMORY_MB", "100000"))


@ray.remote(num_cpus=0.1)
def produce(number: int, queue: Queue) -> int:
    rng = random.Random(number)
    for _ in range(DOCUMENTS):
        time.sleep(0.03)
        queue.put("".join(rng.choice("acgt") for _ in range(1500)))
    return DOCUMENTS


@ray.remote(num_cpus=0.1)
class Packer:
    def __init__(self, queue: Queue) -> None:
        self.queue, self.documents = queue, []
        print(f"packer up, pid {os.getpid()}, {rss_mb():.0f} MB", flush=True)

    def run(self, total: int) -> int:
        shards = 0
        while len(self.documents) < total:
            self.documents += [self.queue.get() for _ in range(PER_SHARD)]
            shards += 1
            if shards % 10 == 0:
                self.index()
            print(f"packed shard {shards} of {total // PER_SHARD}", flush=True)
        return shards

    def index(self) -> None:
        """All places of all words of eleven letters, then what stands next to what."""
        within_limit()
        places: dict[str, list[int]] = {}
        for number, text in enumerate(self.documents):
            for at in range(len(text) - 11):
                places.setdefault(text[at : at + 11], []).append(number)
        near = 0
        for number, text in enumerate(self.documents):
            own = {text[at : at + 11] for at in range(len(text) - 11)}
            for other in self.documents[:number]:
                near += sum(1 for at in range(len(other) - 11) if other[at : at + 11] in own)
        print(f"index of {len(self.documents)} documents: {len(places)} words, {near} shared, {rss_mb():.0f} MB", flush=True)


def rss_mb() -> float:
    """The most that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def within_limit() -> None:
    """What the kernel does where the machine has a cgroup for each packer."""
    if rss_mb() > MEMORY_MB:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100_000_000)
    queue = Queue(maxsize=60, actor_options={"num_cpus": 0.1})
    packer = Packer.remote(queue)
    packing = packer.run.remote(PRODUCERS * DOCUMENTS)
    producers = [produce.remote(number, queue) for number in range(PRODUCERS)]
    print(f"driver pid {os.getpid()}: {PRODUCERS} producers, {PRODUCERS * DOCUMENTS} documents", flush=True)
    made = sum(ray.get(producers))
    print(f"{made} documents made, {ray.get(packing)} shards packed", flush=True)
