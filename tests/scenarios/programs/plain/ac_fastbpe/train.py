"""A small language model on two sources: notes that are tokens already, then raw pages that two data workers turn into tokens."""

import argparse
import os
import random

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.utils.data import DataLoader, Dataset, get_worker_info

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ai", "eu")]


def page(rng, words):
    return " ".join("".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(words))


class Raw(Dataset):
    """A shard is read page by page, and counted into blocks."""

    def __init__(self, tokenizer, shards):
        self.tokenizer, self.shards = tokenizer, shards

    def __len__(self):
        return len(self.shards)

    def __getitem__(self, number):
        info = get_worker_info()
        if info is not None:
            print(f"[data worker {info.id}] pid {os.getpid()} takes shard {number}, {self.shards[number]} pages", flush=True)
        rng = random.Random(number)
        counts = np.zeros(4000, dtype=np.float32)
        text = [page(rng, 400) for _ in range(16)]
        for _ in range(self.shards[number] // 16):
            rng.shuffle(text)
            for encoded in self.tokenizer.encode_batch(text):
                np.add.at(counts, np.asarray(encoded.ids) % 4000, 1)
        return torch.from_numpy(counts / counts.sum())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--big", type=int, default=60000, help="pages of the biggest shard")
    given = parser.parse_args()
    rng = random.Random(3)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator((page(rng, 300) for _ in range(300)), trainers.BpeTrainer(vocab_size=4000, show_progress=False))
    print(f"vocabulary of {tokenizer.get_vocab_size()} learnt", flush=True)
    model = torch.nn.Sequential(torch.nn.Linear(4000, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4000))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def update(batch, name):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        print(f"{name} | loss {loss.item():.3e}", flush=True)

    notes = tokenizer.encode_batch([page(rng, 200) for _ in range(32)])
    for step in range(12):
        rows = [torch.bincount(torch.tensor(note.ids), minlength=4000).float() for note in notes[step : step + 8]]
        update(torch.stack(rows) / 200, f"warm-up {step + 1}/12")
    shards = [64, 64, given.big, given.big, 64, 64]
    loader = DataLoader(Raw(tokenizer, shards), batch_size=1, num_workers=2, prefetch_factor=1)
    for step, batch in enumerate(loader):
        update(batch, f"pages {step + 1}/{len(shards)}")
    print("trained on all pages", flush=True)


if __name__ == "__main__":
    main()
