"""Features for a training set: four workers, each with a range of chunks; who is done takes half of what the fullest one has left.
The parent writes a snapshot of the results now and then, so that a run can go on, and says every 5 s how full the ranges are."""

import json
import multiprocessing as mp
import os
import random
import threading
import time
from pathlib import Path

WORKERS, CHUNKS = 4, 400
SNAPSHOT_S = 12.0
LONG = {38}


def say(**row: object) -> None:
    print(json.dumps({"t": round(time.time(), 1), **row}), flush=True)


class Ranges:
    def __init__(self) -> None:
        self.bounds = mp.Array("i", 2 * WORKERS, lock=False)
        self.locks = [mp.Lock() for _ in range(WORKERS)]
        for worker in range(WORKERS):
            self.bounds[2 * worker] = worker * CHUNKS // WORKERS
            self.bounds[2 * worker + 1] = (worker + 1) * CHUNKS // WORKERS

    def left(self, worker: int) -> int:
        return self.bounds[2 * worker + 1] - self.bounds[2 * worker]

    def steal(self, thief: int) -> bool:
        victim = max(range(WORKERS), key=self.left)
        if victim == thief:
            return False
        first, second = sorted((thief, victim))
        with self.locks[first], self.locks[second]:
            half = self.left(victim) // 2
            if half:
                end = self.bounds[2 * victim + 1]
                self.bounds[2 * thief], self.bounds[2 * thief + 1] = end - half, end
                self.bounds[2 * victim + 1] = end - half
        return half > 0


def featurize(chunk: int, rng: random.Random) -> float:
    pages = 9000 if chunk in LONG else rng.randint(40, 80)
    total = 0.0
    for _ in range(pages):
        total += rng.random()
        time.sleep(0.005)
    return total / pages


def work(me: int, ranges: Ranges, results_lock, results) -> None:
    rng = random.Random(me)
    say(event="worker", worker=me, pid=os.getpid())
    while ranges.left(me) > 0 or ranges.steal(me):
        with ranges.locks[me]:
            if not ranges.left(me):
                continue
            chunk = ranges.bounds[2 * me]
            ranges.bounds[2 * me] += 1
        value = featurize(chunk, rng)
        with results_lock:
            results[chunk] = value
        say(event="chunk", worker=me, chunk=chunk, mean=round(value, 4))
    say(event="idle", worker=me)


def snapshot(ranges: Ranges, results_lock, results) -> None:
    """Results and ranges of one moment."""
    with results_lock:
        with Path("snapshot.json").open("w") as out:
            json.dump(list(results), out)
            out.flush()
            os.fsync(out.fileno())
            time.sleep(0.6)  # the share takes its time
            for worker in range(WORKERS):
                with ranges.locks[worker]:
                    out.write(json.dumps(list(ranges.bounds[2 * worker : 2 * worker + 2])) + "\n")


def monitor(ranges: Ranges) -> None:
    while True:
        time.sleep(5.0)
        say(event="monitor", left=[ranges.left(worker) for worker in range(WORKERS)], load=round(os.getloadavg()[0], 1))


def main() -> None:
    ranges, results_lock, results = Ranges(), mp.Lock(), mp.Array("d", CHUNKS, lock=False)
    say(event="start", pid=os.getpid(), chunks=CHUNKS)
    workers = [mp.Process(target=work, args=(n, ranges, results_lock, results)) for n in range(WORKERS)]
    for worker in workers:
        worker.start()
    threading.Thread(target=monitor, args=(ranges,), daemon=True).start()
    last = time.time()
    while any(worker.is_alive() for worker in workers):
        time.sleep(0.2)
        if time.time() - last > SNAPSHOT_S:
            snapshot(ranges, results_lock, results)
            last = time.time()
    say(event="end", mean=sum(results) / CHUNKS)


if __name__ == "__main__":
    main()
