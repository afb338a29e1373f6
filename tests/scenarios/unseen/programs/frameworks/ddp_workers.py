"""DDP on two ranks, each with a DataLoader of two workers and a sampler of its own; meters like those of the ImageNet example."""

from __future__ import annotations

import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

PER_EPOCH = 40
BATCH = 8


class Pictures(Dataset):
    """Made-up pictures that take a while to decode."""

    def __len__(self):
        return PER_EPOCH * BATCH * 2

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        picture = torch.rand(3, 16, 16, generator=generator)
        label = index % 10
        picture = self.decode(picture)
        return picture, label

    def decode(self, picture):
        time.sleep(0.012)
        return (picture - 0.5) / 0.25


class Meter:
    """A value and its mean."""

    def __init__(self, name, form):
        self.name, self.form = name, form
        self.total, self.count, self.value = 0.0, 0, 0.0

    def update(self, value):
        self.value = value
        self.total += value
        self.count += 1

    def __str__(self):
        mean = self.total / max(1, self.count)
        return f"{self.name} {self.value:{self.form}} ({mean:{self.form}})"


def seeds(worker):
    """Another seed for each worker."""
    torch.manual_seed(17 + worker)


def collate(rows):
    """Pictures and labels of one batch."""
    pictures = torch.stack([row[0] for row in rows])
    labels = torch.tensor([row[1] for row in rows])
    return pictures, labels


def save(model, folder, epoch):
    """The newest weights."""
    path = os.path.join(folder, "checkpoint.pth.tar")
    torch.save({"epoch": epoch, "state_dict": model.module.state_dict()}, path)


def epoch_of(model, optimizer, loader, epoch, left):
    """One pass; says how many steps are left."""
    took, waited, losses = Meter("Time", "6.3f"), Meter("Data", "6.3f"), Meter("Loss", ".4e")
    end = time.monotonic()
    for number, (pictures, labels) in enumerate(loader):
        waited.update(time.monotonic() - end)
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.update(loss.item())
        time.sleep(0.1)
        took.update(time.monotonic() - end)
        end = time.monotonic()
        if dist.get_rank() == 0 and number % 2 == 1:
            head = f"Epoch: [{epoch}][{number + 1:3d}/{PER_EPOCH}]"
            print("\t".join([head, str(took), str(waited), str(losses)]), flush=True)
        left -= 1
        if left == 0:
            break
    return left


def train(folder, steps):
    """What each rank does."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    data = Pictures()
    sampler = DistributedSampler(data)
    loader = DataLoader(
        data, BATCH, sampler=sampler, num_workers=2, collate_fn=collate, worker_init_fn=seeds, persistent_workers=True
    )
    layers = [torch.nn.Conv2d(3, 6, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(1176, 10)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    epoch, left = 0, steps
    while left > 0:
        sampler.set_epoch(epoch)
        left = epoch_of(model, optimizer, loader, epoch, left)
        dist.barrier()
        if rank == 0:
            save(model, folder, epoch)
        epoch += 1
    if rank == 0:
        print(f"finished after {epoch} epochs", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if "RANK" not in os.environ:
        argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *sys.argv]
        os.execv(sys.executable, argv)
    train(given.folder, given.steps)


if __name__ == "__main__":
    main()
