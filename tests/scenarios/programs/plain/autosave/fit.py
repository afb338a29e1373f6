"""Online learning from a stream. Whatever happens, no more than a few seconds are lost: a timer saves."""

import json
import logging
import os
import random
import signal
import threading
import time
from pathlib import Path

logging.basicConfig(level=logging.DEBUG, format="%(relativeCreated)8d %(levelname).1s %(funcName)s: %(message)s")
log = logging.getLogger(__name__)
EVERY_S = 3.5


class Book:
    """Running statistics; readers see whole rows only."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.rows: dict[str, list[float]] = {}

    def add(self, name: str, values: list[float]) -> None:
        with self.lock:
            row = self.rows.setdefault(name, [])
            for value in sorted(values):
                row.append(value)
                time.sleep(0.0004)
            del row[:-2000]

    def save(self, path: Path) -> None:
        with self.lock:
            path.write_text(json.dumps(self.rows))


book, steps = Book(), 0


def autosave(*_: object) -> None:
    book.save(Path("book.json"))
    log.debug("step %d is safe", steps)


def stream(rng: random.Random) -> list[float]:
    time.sleep(0.16)
    return [rng.gauss(0, 1) for _ in range(250)]


def main() -> None:
    global steps
    rng, mean = random.Random(9), 0.0
    log.info("pid %d, a save each %g s", os.getpid(), EVERY_S)
    signal.signal(signal.SIGALRM, autosave)
    signal.setitimer(signal.ITIMER_REAL, EVERY_S, EVERY_S)
    for steps in range(1, 3001):
        values = stream(rng)
        mean += 0.1 * (sum(values) / len(values) - mean)
        book.add("value", values)
        log.info("step %d/3000 mean %+.4f", steps, mean)


if __name__ == "__main__":
    main()
