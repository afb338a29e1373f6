"""Features out of packed recordings, by four processes; then a codebook is trained on them."""

import multiprocessing as mp
import os
import random
import struct
import time
from multiprocessing.queues import JoinableQueue, Queue
from pathlib import Path

WORKERS, FILES, ROUNDS = 4, 60, 12


def record(folder: Path) -> list[Path]:
    """What the microphones have left; one disk was full."""
    folder.mkdir(exist_ok=True)
    rng, paths = random.Random(6), []
    for number in range(FILES):
        values = [rng.randint(-900, 900) for _ in range(300)]
        data = struct.pack("<I300h", len(values), *values)
        paths.append(folder / f"rec{number:03d}.pcm")
        paths[-1].write_bytes(data[:344] if number == 37 else data)
    return paths


def energy(path: Path, window: int) -> float:
    data = path.read_bytes()
    (count,) = struct.unpack_from("<I", data)
    values = struct.unpack_from(f"<{count}h", data, 4)
    time.sleep(0.12)
    return sum(value * value for value in values[:: window + 1]) / count


def worker(number: int, todo: "JoinableQueue[tuple[Path, int] | None]", out: "Queue[float]") -> None:
    print(f"up: pid {os.getpid()} is w{number}", flush=True)
    while (task := todo.get()) is not None:
        out.put(energy(*task))
        todo.task_done()
    todo.task_done()


def main() -> None:
    context = mp.get_context("fork")
    todo, out = context.JoinableQueue(), context.Queue()
    workers = [context.Process(target=worker, name=f"w{number}", args=(number, todo, out)) for number in range(WORKERS)]
    for one in workers:
        one.start()
    print(f"[main] pid {os.getpid()}", flush=True)
    paths = record(Path("recordings"))
    level = 0.0
    for number in range(1, ROUNDS + 1):
        known = paths[: 5 * number]
        for path in known:
            todo.put((path, number))
        todo.join()
        values = [out.get() for _ in known]
        level += 0.5 * (sum(values) / len(values) - level)
        print(f"[main] round {number}/{ROUNDS}: {len(known)} files, level {level:.1f}", flush=True)
    for _ in workers:
        todo.put(None)
    todo.join()
    print("[main] codebook written", flush=True)


if __name__ == "__main__":
    main()
