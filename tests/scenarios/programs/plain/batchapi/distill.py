"""Distillation: scores come in batches from a service, which is asked now and then whether it has them; then some steps."""

import logging
import os
import sys
import time

import requests
from requests.adapters import HTTPAdapter

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("distill")
BASE = f"http://127.0.0.1:{sys.argv[1]}"


def examples(session: requests.Session, first: int, count: int) -> list[str]:
    texts = []
    for number in range(first, first + count):
        with session.get(f"{BASE}/example/{number}", stream=True) as answer:
            if answer.status_code == 206:
                log.warning("example %d is not complete, left out", number)
                continue
            texts.append(answer.json()["text"])
    return texts


def scored(session: requests.Session, sizes: list[int]) -> list[int]:
    number = session.post(f"{BASE}/batches", json=sizes).json()["id"]
    while (state := session.get(f"{BASE}/batches/{number}").json())["status"] != "completed":
        time.sleep(1.0 if sizes[0] < 500 else 4.0)
    return list(state["scores"])


def main() -> None:
    session, loss, rounds = requests.Session(), 2.3, 60
    session.mount("http://", HTTPAdapter(pool_connections=1, pool_maxsize=4, pool_block=True))
    log.info("pid %d, %d rounds against %s", os.getpid(), rounds, BASE)
    for number in range(1, rounds + 1):
        texts = examples(session, 16 * number, 16)
        sizes = [4800 if number == LONG else 120] * len(texts)
        marks = scored(session, sizes)
        for step in range(1, 4):
            time.sleep(0.15)
            loss *= 0.998
            log.info("round %d/%d step %d/3: loss %.4f, teacher %.2f", number, rounds, step, loss, sum(marks) / len(marks))


LONG = 7
main()
