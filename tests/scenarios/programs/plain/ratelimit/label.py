"""Labels samples with four threads that ask a service, and trains on what it has, round by round."""

import logging
import os
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(threadName)s %(message)s")
URL = f"http://127.0.0.1:{os.environ['LABEL_PORT']}/label"


def label(sample: int) -> int:
    while True:
        try:
            with urllib.request.urlopen(f"{URL}?id={sample}") as answer:
                return int(answer.read())
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise
            pause = int(error.headers["Retry-After"])
            logging.warning("HTTP 429 Too Many Requests; retrying sample %d after %d s", sample, pause)
            time.sleep(pause)


with ThreadPoolExecutor(4, thread_name_prefix="labeller") as pool:
    for number in range(1, 30):
        labels = list(pool.map(label, range(number * 16, number * 16 + 16)))
        time.sleep(0.2)
        logging.info("round %d labelled %d/464 positives %d", number, number * 16, sum(labels))
