"""Accelerate: each process reads a file of its own in each pass."""

import json
import os
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, IterableDataset

PAUSE = 45


class Part(IterableDataset):
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        for line in self.path.read_text().splitlines():
            row = torch.tensor(json.loads(line))
            yield row, row.abs().sum(0, keepdim=True)


accelerator = Accelerator(cpu=True)
rank = accelerator.process_index
print(f"process {rank}: pid {os.getpid()}", flush=True)
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=3e-3))


def opened(number):
    """The file of this process; whoever writes the parts may be late."""
    path = Path(f"part-{number}-{rank}.jsonl")
    for attempt in range(1, 6):
        if path.exists():
            return path
        print(f"process {rank}: {path.name} is not there yet (attempt {attempt} of 5), next look in {PAUSE} s", flush=True)
        time.sleep(PAUSE)
    raise FileNotFoundError(path)


for number in range(10):
    accelerator.wait_for_everyone()
    for batch, (x, y) in enumerate(DataLoader(Part(opened(number)), batch_size=8)):
        loss = torch.nn.functional.mse_loss(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.1)
        if batch % 5 == 0:
            accelerator.print(f"pass {number} batch {batch} mse {loss.item():.3f}", flush=True)
    accelerator.wait_for_everyone()
    mean = accelerator.reduce(loss.detach(), reduction="mean")
    accelerator.print(f"pass {number} is over: {mean.item():.3f}", flush=True)
