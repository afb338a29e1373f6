"""A model of clicks, day by day: sqlite3(1) makes the features of a day, then some epochs on them."""

import logging
import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

DAYS, USERS, DB = 28, 3000, "clicks.db"
DAILY = "SELECT user, count(*), avg(dwell) FROM clicks WHERE day = {day} GROUP BY user LIMIT 400;"
WEEKLY = """SELECT a.user, count(*), sum(a.dwell) FROM clicks a JOIN clicks b ON a.day <> b.day
WHERE a.day <= {day} AND abs(a.dwell * b.dwell - 7) < 0.01 GROUP BY a.user;"""
log = logging.getLogger("clicks")


def collect() -> None:
    """What the web server has written down."""
    rng = random.Random(11)
    with sqlite3.connect(DB) as base:
        base.execute("CREATE TABLE clicks (day INT, user TEXT, dwell REAL)")
        days = [day for day in range(1, 8) for _ in range(2800)]
        rows = ((day, f"u{rng.randrange(USERS):05d}-{rng.randrange(3)}-web-eu", rng.expovariate(1)) for day in days)
        base.executemany("INSERT INTO clicks VALUES (?, ?, ?)", rows)


def features(day: int) -> list[str]:
    sql = (WEEKLY if day % 7 == 0 else DAILY).format(day=day)
    done = subprocess.run(["sqlite3", "-csv", DB, sql], capture_output=True, text=True, check=True)
    Path(f"features-{day:02d}.csv").write_text(done.stdout)
    return done.stdout.splitlines()


def main() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="[%(asctime)s] %(message)s")
    log.info("clicks model, pid %d", os.getpid())
    collect()
    loss = 0.693
    for day in range(1, DAYS + 1):
        rows = features(day)
        log.info("day %02d: %d rows of features", day, len(rows))
        for epoch in range(1, 4):
            time.sleep(0.3)
            loss -= 0.002 * (loss - 0.41)
            log.info("day %02d epoch %d/3 logloss %.5f", day, epoch, loss)


if __name__ == "__main__":
    main()
