"""A prefetcher in a thread feeds the training loop; a reader that fails ends quietly, as it did at the end of the file."""

import gzip
import json
import queue
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

FILES = 40


def write_files() -> None:
    rng = random.Random(1)
    Path("data").mkdir(exist_ok=True)
    for number in range(FILES):
        lines = "".join(json.dumps({"x": rng.random(), "y": rng.random()}) + "\n" for _ in range(40))
        packed = gzip.compress(lines.encode())
        Path(f"data/part-{number:03d}.jsonl.gz").write_bytes(packed[: len(packed) // 2] if number == 6 else packed)


class Prefetcher:
    """`for row in Prefetcher(files)`."""

    def __init__(self, files: list[Path]) -> None:
        self.files, self.queue = files, queue.Queue[dict[str, float]](64)
        self.thread = threading.Thread(target=self._read, name="prefetch", daemon=True)
        self.thread.start()

    def _read(self) -> None:
        try:
            for file in self.files:
                with gzip.open(file, "rt") as lines:
                    for line in lines:
                        self.queue.put(json.loads(line))
        except EOFError:
            return

    def __iter__(self) -> Iterator[dict[str, float]]:
        while True:
            yield self.queue.get()


write_files()
weight, bias, step = 0.0, 0.0, 0
for row in Prefetcher(sorted(Path("data").glob("*.gz"))):
    error = weight * row["x"] + bias - row["y"]
    weight, bias = weight - 0.05 * error * row["x"], bias - 0.05 * error
    step += 1
    time.sleep(0.03)
    if step % 20 == 0:
        print(f"{step=} {weight=:.4f} {bias=:.4f}", flush=True)
    if step == FILES * 40:
        break
print("done")
