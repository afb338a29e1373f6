"""Text into shards of tokens, with a pool: the training part first, then the validation part."""

import logging
import multiprocessing as mp
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

from bpe import LETTERS, encode, learn, load

MERGES = {"train": Path("merges.txt"), "valid": Path("merges.txt")}
SHARDS = {"train": 30, "valid": 8}
DOCS = 12
log = logging.getLogger("prepare")
ranks: dict[tuple[str, str], int] = {}


def ready(path: Path) -> None:
    """In each worker, once."""
    ranks.update(load(path))


def tokens(text: str) -> int:
    time.sleep(0.1)
    return sum(len(encode(word, ranks)) for word in text.split())


def documents(split: str) -> Iterator[str]:
    """Scraped pages. Now and then somebody has pasted an attachment into one."""
    rng = random.Random(split)
    for number in range(SHARDS[split] * DOCS):
        words = ["".join(rng.choices(LETTERS, k=rng.randint(2, 9))) for _ in range(rng.randint(50, 200))]
        if split == "valid" and number == 41:
            words.insert(20, "".join(rng.choices(LETTERS, k=42000)))
        yield " ".join(words)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
    log.info("pid %d, %d shards of %d documents", os.getpid(), sum(SHARDS.values()), DOCS)
    learn(MERGES["train"])
    for split, shards in SHARDS.items():
        with mp.get_context("fork").Pool(3, initializer=ready, initargs=(MERGES[split],)) as pool:
            counts, began = pool.imap(tokens, documents(split)), time.time()
            for shard in range(1, shards + 1):
                total = sum(next(counts) for _ in range(DOCS))
                log.info("%s shard %d/%d: %d tokens (%.0f tok/s)", split, shard, shards, total, total / (time.time() - began))
                began = time.time()
    log.info("done")


if __name__ == "__main__":
    main()
