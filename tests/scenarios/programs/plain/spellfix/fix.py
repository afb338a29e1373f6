"""Learns to mend misspelt words by counting; says how many errors are left. Stops when the time is over."""

import argparse
import logging
import os
import random
import time
import warnings

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-8s %(name)s - %(message)s")
log = logging.getLogger("spellfix")
logging.captureWarnings(True)
WORDS = ["error", "exception", "timeout", "killed", "failure", "received", "separate", "deadline", "aborted", "refused"]


def spoil(word: str, rng: random.Random) -> str:
    at = rng.randrange(len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def remote(number: int) -> None:
    """The tracker of the group, where there is one."""
    if number % 3 == 0:
        raise ConnectionRefusedError(111, "Connection refused")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=0.5)
    ends = time.time() + 60 * parser.parse_args().minutes
    rng, known, number = random.Random(2), dict[str, str](), 0
    log.info("pid %d, max steps 100000", os.getpid())
    while time.time() < ends:
        number += 1
        word = rng.choice(WORDS)
        known[spoil(word, rng)] = word
        if number % 10 == 0:
            tests = [(spoil(word, rng), word) for word in WORDS for _ in range(5)]
            wrong = [bad for bad, good in tests if known.get(bad) != good]
            log.info("step %d/100000: %d errors of %d, e.g. %s -> ?", number, len(wrong), len(tests), wrong[0] if wrong else "-")
            try:
                remote(number // 10)
            except OSError:
                log.exception("tracker: could not send step %d, kept for later", number)
        if number == 77:
            warnings.warn("the list of words is small", RuntimeWarning, stacklevel=1)
        time.sleep(0.12)
    log.error("tracker: 5 rows were never sent")
    log.info("time is over after step %d (limit %.1f min); model saved to fix.json, exit", number, (time.time() - ends) / 60)


if __name__ == "__main__":
    main()
