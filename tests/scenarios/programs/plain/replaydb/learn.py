"""Learns from what the collectors file: an update as soon as there are three more episodes."""

import argparse
import logging
import subprocess
import sys
import time

from common import connect

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("learner")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--collectors", type=int, default=2)
    parser.add_argument("--updates", type=int, default=60)
    given = parser.parse_args()
    base = connect()
    collectors = [subprocess.Popen([sys.executable, "collect.py", str(number)]) for number in range(given.collectors)]
    log.info("started %d collectors", len(collectors))
    newest, value = 0, 0.0
    for update in range(1, given.updates + 1):
        while True:
            rows = base.execute("select id, reward from episodes where id > ? order by id", (newest,)).fetchall()
            if len(rows) >= 3:
                break
            time.sleep(0.5)
        newest = rows[-1][0]
        value += 0.1 * (sum(reward for _, reward in rows) / len(rows) - value)
        log.info("update %d/%d: %d episodes, value %.3f", update, given.updates, newest, value)
    for collector in collectors:
        collector.terminate()


if __name__ == "__main__":
    main()
