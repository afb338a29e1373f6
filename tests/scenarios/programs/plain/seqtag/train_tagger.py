"""A small tagger with DDP over gloo. Rank 0 reports, and evaluates after each epoch with a Viterbi search in Python."""

import argparse
import json
import os
import random
import time
import urllib.request
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

TAGS, WORDS, LENGTH = 9, 200, 24
BATCHES, EPOCHS = 30, 12
DEV = 60


def report(url: str, **row: float) -> None:
    body = json.dumps(row).encode()
    urllib.request.urlopen(urllib.request.Request(url, data=body, method="POST")).close()


def batch(rng: random.Random) -> tuple[torch.Tensor, torch.Tensor]:
    words = torch.tensor([[rng.randrange(WORDS) for _ in range(LENGTH)] for _ in range(16)])
    return words, words % TAGS


def viterbi(scores: list[list[float]]) -> list[int]:
    best, came = scores[0], []
    for row in scores[1:]:
        froms = [max(range(TAGS), key=lambda tag: best[tag] - 0.1 * abs(tag - new)) for new in range(TAGS)]
        best = [best[came_from] - 0.1 * abs(came_from - new) + row[new] for new, came_from in enumerate(froms)]
        came.append(froms)
    path = [max(range(TAGS), key=best.__getitem__)]
    for froms in reversed(came):
        path.append(froms[path[-1]])
    return path[::-1]


def evaluate(model: nn.Module, sentences: int) -> float:
    rng, right = random.Random(99), 0
    for _ in range(sentences):
        words = torch.tensor([[rng.randrange(WORDS) for _ in range(LENGTH)]])
        with torch.no_grad():
            scores = model(words)[0].log_softmax(-1).tolist()
        right += sum(a == b for a, b in zip(viterbi(scores), (words[0] % TAGS).tolist()))
        time.sleep(0.01)
    return right / (sentences * LENGTH)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tracker", type=Path, required=True)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    net = nn.Sequential(nn.Embedding(WORDS, 16), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, TAGS))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    url = f"http://127.0.0.1:{args.tracker.read_text()}/metrics"
    print(f"rank {rank}/{world} pid {os.getpid()}", flush=True)
    rng = random.Random(rank)
    for epoch in range(1, EPOCHS + 1):
        for number in range(1, BATCHES + 1):
            words, tags = batch(rng)
            time.sleep(0.1)
            loss = nn.functional.cross_entropy(model(words).flatten(0, 1), tags.flatten())
            optimizer.zero_grad()
            loss.backward()
            norm = float(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
            optimizer.step()
            if rank == 0 and number % 5 == 0:
                row = {"epoch": epoch, "batch": number, "loss": round(loss.item(), 4), "grad_norm": round(norm, 3)}
                report(url, **row)
                print(row, flush=True)
        if rank == 0:
            print(f"evaluating on {DEV} sentences", flush=True)
            print({"epoch": epoch, "dev_accuracy": evaluate(net, DEV)}, flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
