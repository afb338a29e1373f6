"""Words in two languages, DDP under torchrun: each epoch has its own noisy copy of the corpus, made by whoever comes first."""

import os
import random
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.file_baton import FileBaton

COPIES = 6
WORDS = 300
STEPS = 30
SNAPSHOT = Path("snapshot.pt")


def noisy(epoch, file, attempt):
    """The corpus with letters swapped, left out and doubled."""
    numbers, rows = random.Random(epoch), []
    for copy in range(COPIES):
        for word in range(WORDS):
            letters = [97 + (word * 7 + k * k) % 26 for k in range(12)]
            for _ in range(40):
                i, j = numbers.randrange(12), numbers.randrange(12)
                letters[i], letters[j] = letters[j], letters[i]
            rows.append(letters)
        during(epoch, copy, attempt)
    whole = file.with_suffix(".part")
    torch.save(torch.tensor(rows), whole)
    whole.rename(file)


def during(epoch, copy, attempt):
    return


def corpus(epoch, attempt):
    file = Path(f"noisy-{epoch}.pt")
    baton = FileBaton(f"{file}.lock", 0.5)
    while not file.exists():
        if baton.try_acquire():
            try:
                noisy(epoch, file, attempt)
            finally:
                baton.release()
        else:
            baton.wait()
    return torch.load(file)


def main():
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    dist.init_process_group("gloo")
    rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    print(f"[rank {rank}] attempt {attempt}, pid {os.getpid()}", flush=True)
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Embedding(128, 24), torch.nn.Flatten(), torch.nn.Linear(12 * 24, 64), torch.nn.ReLU(), torch.nn.Linear(64, 26)
    )
    model = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    first = 0
    if SNAPSHOT.exists():
        kept = torch.load(SNAPSHOT)
        net.load_state_dict(kept["net"])
        first = kept["epoch"] + 1
        print(f"[rank {rank}] goes on with epoch {first}", flush=True)
    for epoch in range(first, 1000):
        rows = corpus(epoch, attempt)
        for step in range(STEPS):
            batch = rows[(rank + 2 * step) * 16 % len(rows) :][:16]
            loss = torch.nn.functional.cross_entropy(model(batch), batch[:, 0] - 97)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            torch.save({"net": net.state_dict(), "epoch": epoch}, "snapshot.new")
            os.replace("snapshot.new", SNAPSHOT)
            print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)
        dist.barrier()


main()
