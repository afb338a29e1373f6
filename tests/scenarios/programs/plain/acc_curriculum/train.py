"""Accelerate: documents grow longer from epoch to epoch, and their merges are learned again before each, by the main process first."""

import collections
import os
import random
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator

LETTERS = {1: 20_000, 2: 60_000, 3: 3_000_000, 4: 60_000}
MERGES = 40
accelerator = Accelerator(cpu=True)
print(f"process {accelerator.process_index}/{accelerator.num_processes} pid {os.getpid()}", flush=True)


def merged(letters, seed):
    """Byte pair encoding, the plain way."""
    dice = random.Random(seed)
    text = [dice.randrange(12) for _ in range(letters)]
    for new in range(12, 12 + MERGES):
        pair = collections.Counter(zip(text, text[1:])).most_common(1)[0][0]
        out, at = [], 0
        while at < len(text):
            if tuple(text[at : at + 2]) == pair:
                out.append(new)
                at += 2
            else:
                out.append(text[at])
                at += 1
        text = out
    return np.array(text, dtype=np.int64)


model = torch.nn.Sequential(torch.nn.Embedding(64, 32), torch.nn.Linear(32, 64))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
model, optimizer = accelerator.prepare(model, optimizer)
for epoch, letters in LETTERS.items():
    kept = Path(f"tokens-{epoch}.npy")
    with accelerator.main_process_first():
        if not kept.exists():
            np.save(kept, merged(letters, epoch))
        tokens = torch.from_numpy(np.load(kept))
    for step in range(1, 41):
        at = torch.randint(0, len(tokens) - 65, (8,))
        taken = torch.stack([tokens[start : start + 65] for start in at])
        loss = torch.nn.functional.cross_entropy(model(taken[:, :-1]).flatten(0, 1), taken[:, 1:].flatten())
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.print(f"epoch {epoch} step {step}/40: {loss.item():.3f}", flush=True)
accelerator.end_training()
