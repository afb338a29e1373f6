"""Tables of scanned documents: rows that mean the same are found in a pool of processes, a batch of documents after the other."""

import logging
import multiprocessing
import os
import random
import sys


class BrokenTable(Exception):
    """A row that does not fit."""

    def __init__(self, row, reason):
        super().__init__(row, reason)
        self.row, self.reason = row, reason


def near(one, other):
    """Levenshtein."""
    last = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        now = [i]
        for j, right in enumerate(other, 1):
            now.append(min(last[j] + 1, now[-1] + 1, last[j - 1] + (left != right)))
        last = now
    return last[-1]


def check(number, rows):
    for at, row in enumerate(rows):
        if "\x0c" in row:
            raise BrokenTable(at, f"document {number}: a page ends within the row")


def pairs(number):
    rng = random.Random(number)
    size = {38: 20, 40: 350, 41: 370}.get(number, 25)
    rows = ["".join(rng.choices("abcdef ", k=30)) for _ in range(size)]
    if number == 38:
        rows[12] = rows[12][:10] + "\x0c" + rows[12][10:]
    try:
        check(number, rows)
    except BrokenTable:
        logging.exception("[%d] document %d", os.getpid(), number)
        raise
    found = sum(near(one, other) < 16 for at, one in enumerate(rows) for other in rows[:at])
    logging.info("[%d] document %d: %d pairs of %d rows", os.getpid(), number, found, size)
    return found


def main():
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.info("main process %d", os.getpid())
    with multiprocessing.Pool(3) as pool:
        for batch in range(14):
            try:
                found = pool.map(pairs, range(batch * 6, batch * 6 + 6), chunksize=1)
            except BrokenTable as broken:
                logging.warning("batch %d of 14 is left out: %s", batch + 1, broken)
                continue
            logging.info("batch %d of 14 kept, %d pairs", batch + 1, sum(found))
    logging.info("all batches seen")


if __name__ == "__main__":
    main()
