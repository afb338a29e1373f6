"""One of the workers of a study: takes trials from a data base that they share, trains a little, writes the value back."""

import random
import sqlite3
import sys
import time
from pathlib import Path

NAME = sys.argv[1]
IMPORTS = NAME == "b"


def train(rate: float) -> float:
    value = 1.0
    for _ in range(20000):
        value -= rate * value * 0.001
    time.sleep(0.4)
    return value


def curve(length: int) -> list[float]:
    """One learning curve of the study before, smoothed."""
    raw = [random.random() / (k + 1) for k in range(length)]
    return [sum(raw[max(0, k - 25) : k + 1]) / 26 for k in range(length)]


def take_over(base: sqlite3.Connection, seconds: float) -> int:
    """Brings the curves of an earlier study in, all or nothing."""
    count, ends = 0, time.monotonic() + seconds
    base.execute("begin immediate")
    while time.monotonic() < ends:
        base.executemany("insert into curves values (?, ?)", enumerate(curve(500)))
        count += 1
    base.execute("commit")
    return count


def main() -> None:
    base = sqlite3.connect(Path("study.db"), timeout=1800, isolation_level=None)
    base.execute("create table if not exists trials (who text, rate real, value real)")
    base.execute("create table if not exists curves (k integer, value real)")
    print(f"[worker {NAME}] joined the study", flush=True)
    for trial in range(30):
        if IMPORTS and trial == 12:
            print(f"[worker {NAME}] takes over the curves of study 'may'", flush=True)
            print(f"[worker {NAME}] took over {take_over(base, 45)} curves", flush=True)
        rate = random.choice((0.1, 0.3, 1.0))
        value = train(rate)
        base.execute("insert into trials values (?, ?, ?)", (NAME, rate, value))
        print(f"[worker {NAME}] trial {trial} rate={rate} value={value:.4f}", flush=True)


main()
