"""Mends tables from the web and drops the near copies among them."""

import csv
import io
import logging
import random
import sys
import zlib

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s")
log = logging.getLogger("tables")
random.seed(5)


def fetch(part: int) -> list[str]:
    rows = 60 if part != BIG else 8800
    return [",".join(str(random.randint(0, 99)) for _ in range(12)) + f"\n{part},{row}" for row in range(rows)]


def parse(text: str, part: int) -> list[list[str]]:
    table = list(csv.reader(io.StringIO(text)))
    if len(table[0]) % 12 or (part % 4 == 1 and zlib.crc32(text.encode()) % 40 == 0):
        raise ValueError(f"row of {len(table[-1])} cells under a head of {len(table[0])}")
    return table


def likeness(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)


def drop_copies(tables: list[list[list[str]]]) -> list[int]:
    bags = [{cell + str(at) for at, cell in enumerate(table[0])} for table in tables]
    kept: list[int] = []
    for at, bag in enumerate(bags):
        if all(likeness(bag, bags[other]) < 0.9 for other in kept):
            kept.append(at)
    return kept


def main() -> None:
    for part in range(1, 15):
        tables = []
        for number, text in enumerate(fetch(part)):
            try:
                tables.append(parse(text, part))
            except ValueError:
                log.exception("part %d: table %d is broken, left out", part, number)
        kept = drop_copies(tables)
        log.info("part %d: %d of %d tables kept", part, len(kept), len(tables))


BIG = 9

if __name__ == "__main__":
    main()
