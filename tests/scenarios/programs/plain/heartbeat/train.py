"""Three workers by multiprocessing, step by step at a barrier. Each has a thread that says every few seconds that it lives."""

import itertools
import os
import threading
import time
from multiprocessing import Barrier, Process
from multiprocessing.synchronize import Barrier as Meeting


class Statistics:
    """Counted by the worker, shown by its thread."""

    def __init__(self, *, keeps: bool) -> None:
        self.keeps = keeps
        self.lock = threading.Lock()
        self.step = 0
        self.losses: list[float] = []

    def add(self, loss: float) -> None:
        with self.lock:
            self.step += 1
            self.losses.append(loss)
            if self.keeps and self.step % 30 == 0:
                self.flush()

    def flush(self) -> None:
        self.losses = self.losses[-10:]


def beat(rank: int, statistics: Statistics) -> None:
    began = time.time()
    for number in itertools.count():
        time.sleep(3)
        print(f"[worker {rank}] heartbeat {number}: alive, up {time.time() - began:.0f} s, step {statistics.step}", flush=True)


def work(rank: int, meeting: Meeting) -> None:
    print(f"[worker {rank}] pid={os.getpid()}", flush=True)
    statistics = Statistics(keeps=rank == 1)
    threading.Thread(target=beat, args=(rank, statistics), daemon=True).start()
    for step in range(1, 500):
        time.sleep(0.2)
        statistics.add(1 / step)
        meeting.wait()
        if rank == 0:
            print(f"[worker 0] train step {step} loss {1 / step:.4f}", flush=True)


if __name__ == "__main__":
    meeting = Barrier(3)
    for worker in [Process(target=work, args=(rank, meeting)) for rank in range(3)]:
        worker.start()
