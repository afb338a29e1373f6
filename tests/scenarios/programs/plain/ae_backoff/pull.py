"""Pulls the rows of a dataset page by page and turns them into token counts."""

import logging
import os
import random
import sys
import time
import urllib.error
import urllib.request
import json
from collections import Counter

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("pull")
HUB = os.environ["HUB"]
MAX_TRIES = 12


def fetch(page: int) -> list[str]:
    for attempt in range(1, MAX_TRIES + 1):
        try:
            with urllib.request.urlopen(f"{HUB}/rows/{page}", timeout=60) as reply:
                return json.load(reply)
        except (urllib.error.URLError, TimeoutError) as problem:
            if attempt == MAX_TRIES:
                raise
            pause = min(2.0**attempt, 120) + random.random()
            log.warning("page %d, try %d of %d: %s; again in %.1f s", page, attempt, MAX_TRIES, problem, pause)
            time.sleep(pause)
    raise AssertionError("unreachable")


def main() -> None:
    counts: Counter[str] = Counter()
    for page in range(1, 61):
        rows = fetch(page)
        for row in rows:
            counts.update(row.split())
        time.sleep(0.3)
        log.info("page %d/60: %d rows, %d distinct tokens", page, len(rows), len(counts))
    with open("counts.json", "w") as file:
        json.dump(counts.most_common(1000), file)
    log.info("counts.json written")


main()
