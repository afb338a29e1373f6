"""One trainer with a torch DataLoader of two workers, and a bar in the manner of tqdm."""

from __future__ import annotations

import argparse
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

PER_EPOCH = 40


class Sentences(Dataset):
    """Made-up token rows."""

    def __len__(self):
        return PER_EPOCH * 8

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        row = torch.randint(0, 30, (10,), generator=generator)
        time.sleep(0.02)
        return row


def bar(epoch, done, began, loss):
    """Rewrite the line."""
    took = time.monotonic() - began
    rate = done / max(took, 1e-6)
    left = (PER_EPOCH - done) / max(rate, 1e-6)
    filled = "#" * (10 * done // PER_EPOCH)
    text = f"Epoch {epoch}: {100 * done // PER_EPOCH:3d}%|{filled:<10}| {done}/{PER_EPOCH} "
    text += f"[{took:05.1f}<{left:05.1f}, {rate:.2f}it/s, loss={loss:.3f}]"
    sys.stderr.write("\r" + text)
    sys.stderr.flush()


def train(steps):
    """Epochs of the loop."""
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Embedding(30, 6), torch.nn.Linear(6, 30))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Sentences(), batch_size=8, num_workers=2, persistent_workers=True)
    done = 0
    for epoch in range(1 + steps // PER_EPOCH):
        began = time.monotonic()
        for number, rows in enumerate(loader, start=1):
            logits = model(rows[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.1)
            bar(epoch, number, began, loss.item())
            done += 1
            if done == steps:
                break
        sys.stderr.write("\n")
        if done == steps:
            break
    sys.stderr.write(f"Finished {steps} batches\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    train(given.steps)


if __name__ == "__main__":
    main()
