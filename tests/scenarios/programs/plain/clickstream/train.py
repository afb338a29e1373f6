"""Which advertisement is clicked: rows come in parts, from a store or made here, by two loader processes that stay."""

import logging
import os
import random
import time
import urllib.request

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

PART = 60_000
FIELDS = 8
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger(__name__)


class Clicks(IterableDataset):
    def __init__(self, attempt, seen):
        self.attempt, self.seen = attempt, seen

    def part(self, number):
        """The bytes of one part."""
        if "STORE_URL" in os.environ:
            with urllib.request.urlopen(f"{os.environ['STORE_URL']}/part-{PART}") as answer:
                return answer.read()
        return random.Random(number).randbytes(PART)

    def rows(self, number):
        data = self.part(number)
        numbers = random.Random(number)
        for place in range(0, PART // 60):
            fields = [data[place * 60 + k] % 13 + numbers.randrange(80) for k in range(FIELDS)]
            yield torch.tensor(fields), float(sum(fields) % 5 == 0)

    def before(self, worker, number):
        """What is to be done before a part."""
        time.sleep(0.01)

    def __iter__(self):
        worker = get_worker_info()
        log.info("loader %d is pid %d", worker.id, os.getpid())
        left = self.seen // worker.num_workers
        for number in range(worker.id, 10_000, worker.num_workers):
            self.before(worker, number)
            for row in self.rows(number):
                if left > 0:
                    left -= 1
                    continue
                time.sleep(0.0005)
                yield row


def batches(attempt, seen):
    loader = DataLoader(Clicks(attempt, seen), batch_size=50, num_workers=2, prefetch_factor=4, persistent_workers=True)
    yield from loader


def main():
    torch.manual_seed(0)
    log.info("training, pid %d", os.getpid())
    model = torch.nn.Sequential(
        torch.nn.Embedding(128, 16), torch.nn.Flatten(), torch.nn.Linear(16 * FIELDS, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    attempt, number = 0, 0
    while number < 8_000:
        try:
            for fields, clicked in batches(attempt, number * 50):
                loss = torch.nn.functional.binary_cross_entropy_with_logits(model(fields).squeeze(1), clicked.float())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                number += 1
                if number % 10 == 0:
                    log.info("batch %d loss %.4f", number, loss.item())
        except RuntimeError:
            attempt += 1
            log.exception("the loader is gone at batch %d, attempt %d follows", number, attempt)
            if attempt > 3:
                raise
    log.info("done")


if __name__ == "__main__":
    main()
