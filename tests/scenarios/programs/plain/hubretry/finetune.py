"""A reader process streams samples from the hub; the trainer takes them from its queue."""

import logging
import multiprocessing as mp
import queue
import time
from multiprocessing.queues import Queue

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(processName)s %(message)s")
log = logging.getLogger("finetune")


class TooManyRequests(Exception):
    """HTTP 429."""


def request(number: int) -> list[int]:
    if number in (30, 31, 90):
        raise TooManyRequests(f"429 Client Error: Too Many Requests for url: https://hub.example/rows?offset={number * 100}")
    return [(number * 37 + k) % 251 for k in range(64)]


def stream(out: "Queue[list[int]]") -> None:
    pauses = {30: 50, 31: 50, 90: 20}
    for number in range(200):
        try:
            rows = request(number)
        except TooManyRequests as problem:
            log.warning("%s; rate limited, retry in %d seconds", problem, pauses[number])
            time.sleep(pauses[number])
            rows = [number % 251] * 64
        out.put(rows)


def main() -> None:
    feed: Queue[list[int]] = mp.Queue(maxsize=4)
    reader = mp.Process(target=stream, args=(feed,), name="reader", daemon=True)
    reader.start()
    mean = 0.0
    for step in range(1, 121):
        try:
            rows = feed.get(timeout=300)
        except queue.Empty:
            raise SystemExit("no data for five minutes") from None
        mean += (sum(rows) / len(rows) - mean) / step
        time.sleep(0.15)
        log.info("step %d mean token %.2f", step, mean)


if __name__ == "__main__":
    main()
