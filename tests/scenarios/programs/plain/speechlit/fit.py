"""Lightning: spells what was said. Frames come from shards, which the processes share out; errors are counted in words."""

import argparse
import os
import random

import lightning as L
import torch
import torch.distributed as dist
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only
from torch.utils.data import DataLoader, Dataset, IterableDataset

LETTERS = " abcdefghijklmnopqrstuvwxyz"
SHARDS = [64] * 24
SAID = 30
LONG = 40

parser = argparse.ArgumentParser()
parser.add_argument("--devices", type=int, default=2)
parser.add_argument("--strategy", default="ddp")
given = parser.parse_args()


def spoken(number, length):
    numbers = random.Random(number)
    letters = [numbers.randrange(len(LETTERS)) for _ in range(length)]
    sound = torch.Generator().manual_seed(number)
    table = torch.nn.functional.one_hot(torch.tensor(letters), len(LETTERS)).float()
    return table + 0.4 * torch.randn(table.shape, generator=sound), torch.tensor(letters)


class Shards(IterableDataset):
    def __iter__(self):
        rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        for shard in range(rank, len(SHARDS), world):
            for row in range(SHARDS[shard]):
                yield spoken(shard * 1000 + row, 32)


class HeldOut(Dataset):
    def __len__(self):
        return SAID

    def __getitem__(self, index):
        return spoken(900_000 + index, LONG)


def distance(one, other):
    """Levenshtein's."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


class Speller(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(len(LETTERS), 96), torch.nn.ReLU(), torch.nn.Linear(96, len(LETTERS)))
        self.seen, self.texts = 0, []

    def training_step(self, batch, number):
        frames, letters = batch
        self.seen += len(letters)
        return torch.nn.functional.cross_entropy(self.net(frames).flatten(0, 1), letters.flatten())

    def on_train_epoch_end(self):
        seen = self.all_gather(torch.tensor(self.seen))
        rank_zero_only(print)(f"epoch {self.current_epoch}: {int(seen.sum())} utterances so far", flush=True)

    def validation_step(self, batch, number):
        self.texts += zip(self.net(batch[0]).argmax(-1).tolist(), batch[1].tolist())

    def on_validation_epoch_end(self):
        texts, self.texts = self.texts, []
        if self.trainer.is_global_zero:
            wrong = sum(distance(said, meant) for said, meant in texts) / sum(len(meant) for _, meant in texts)
            print(f"epoch {self.current_epoch}: letter error rate {wrong:.4f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


class Hello(Callback):
    def on_fit_start(self, trainer, module):
        print(f"[rank {trainer.global_rank}] speller with pid {os.getpid()}", flush=True)


def main():
    L.seed_everything(11)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=given.devices,
        strategy=given.strategy,
        max_epochs=500,
        check_val_every_n_epoch=4,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        callbacks=[Hello()],
        enable_checkpointing=False,
        enable_progress_bar=False,
        logger=False,
    )
    trainer.fit(Speller(), DataLoader(Shards(), batch_size=16), DataLoader(HeldOut(), batch_size=10))


if __name__ == "__main__":
    main()
