"""DDP: a little sequence model; the main process translates the development set after each epoch, to score it."""

import logging
import os
import random
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

VOCABULARY, LENGTH = 400, 24
log = logging.getLogger("train")


class Model(nn.Module):
    """Reads a sentence, says the next word of each place."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, width)
        self.reader = nn.GRU(width, width, num_layers=2, batch_first=True)
        self.out = nn.Linear(width, VOCABULARY)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        read, _ = self.reader(self.words(words))
        said: torch.Tensor = self.out(read)
        return said


@torch.no_grad()
def translate(model: nn.Module, source: torch.Tensor, beam: int) -> torch.Tensor:
    """Beam search, the plain way: the whole prefix is read again for each word."""
    beams, scores = source.repeat(beam, 1), torch.zeros(beam)
    for _ in range(LENGTH * 2):
        chances = model(beams)[:, -1].log_softmax(-1) + scores[:, None]
        scores, best = chances.flatten().topk(beam)
        beams = torch.cat([beams[best // VOCABULARY], (best % VOCABULARY)[:, None]], dim=1)
    return beams[0, source.shape[1] :]


def overlap(said: torch.Tensor, wanted: torch.Tensor) -> float:
    return len(set(said.tolist()) & set(wanted.tolist())) / len(set(wanted.tolist()))


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s | %(levelname)s | %(message)s")
    random.seed(rank)
    torch.manual_seed(7)
    model = Model()
    wrapped = DDP(model)
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=1e-3)
    development = torch.randint(0, VOCABULARY, (60, LENGTH))
    step = 0
    for epoch in range(int(os.environ.get("EPOCHS", "3"))):
        for _ in range(40):
            words = torch.randint(0, VOCABULARY, (16, LENGTH + 1))
            loss = nn.functional.cross_entropy(wrapped(words[:, :-1]).transpose(1, 2), words[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                log.info("epoch %d | step %d | loss %.3f", epoch, step, loss.item())
        if rank == 0:
            began = time.time()
            score = sum(overlap(translate(model, line[None], 8), line) for line in development) / len(development)
            log.info("epoch %d | dev score %.3f | took %.0f s", epoch, score, time.time() - began)
            torch.save(model.state_dict(), f"epoch{epoch}.pt")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
