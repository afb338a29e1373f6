"""A dual encoder for questions and answers, by Accelerate: big effective batches by accumulation, a thread that reads ahead."""

import logging
import os
import queue
import random
import threading

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset

ACCUMULATE = 4
WIDTH = 64
ROWS = 20_000
LATIN = range(0)
log = logging.getLogger("dualenc")
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


class Pairs(Dataset):
    """Lines of a dump: a question, a tab, its answer."""

    def __len__(self):
        return ROWS

    def __getitem__(self, index):
        numbers = random.Random(index)
        words = " ".join(f"wört{numbers.randrange(500)}" for _ in range(12))
        line = f"{words}\t{words[::-1]}".encode("latin-1" if index in LATIN else "utf-8")
        question, answer = line.decode("utf-8").split("\t")
        return self.tensor(question), self.tensor(answer)

    def tensor(self, text):
        counts = torch.zeros(256)
        for code in text.encode():
            counts[code] += 1
        return counts


class Ahead:
    """The batches of a loader, some of them read before they are asked for."""

    def __init__(self, loader, depth=8):
        self.loader, self.queue = loader, queue.Queue(depth)
        threading.Thread(target=self.fill, name="ahead", daemon=True).start()

    def fill(self):
        try:
            for batch in self.loader:
                self.queue.put(batch)
            self.queue.put(None)
        except Exception:
            log.debug("reading ended", exc_info=True)

    def __iter__(self):
        while (batch := self.queue.get()) is not None:
            yield batch


class Tower(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.question = self.encoder()
        self.answer = self.encoder()

    def encoder(self):
        return torch.nn.Sequential(
            torch.nn.Linear(256, WIDTH),
            torch.nn.GELU(),
            torch.nn.Linear(WIDTH, WIDTH),
            torch.nn.GELU(),
            torch.nn.Linear(WIDTH, 64),
        )

    def forward(self, questions, answers):
        return self.question(questions) @ self.answer(answers).T


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=ACCUMULATE)
    log.info("rank %d of %d, pid %d", accelerator.process_index, accelerator.num_processes, os.getpid())
    model = Tower()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(Pairs(), batch_size=16))
    update = 0
    for epoch in range(50):
        for questions, answers in Ahead(loader):
            with accelerator.accumulate(model):
                scores = model(questions, answers)
                loss = torch.nn.functional.cross_entropy(scores, torch.arange(len(scores)))
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                update += 1
                if accelerator.is_main_process and update % 5 == 0:
                    log.info("epoch %d update %d loss %.4f", epoch, update, loss.item())


if __name__ == "__main__":
    main()
