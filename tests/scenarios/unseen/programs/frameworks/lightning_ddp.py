"""A LightningModule with a LightningDataModule and a callback on two processes of the DDP strategy, with Lightning's own bar."""

from __future__ import annotations

import argparse
import time

import lightning
import torch
from lightning.pytorch.callbacks import TQDMProgressBar
from torch.utils.data import DataLoader, Dataset

PER_EPOCH = 30


class Curves(Dataset):
    """Pieces of noisy sines; what comes next is to be guessed."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        begin = 0.37 * index
        times = begin + 0.2 * torch.arange(17)
        values = torch.sin(times) + 0.05 * torch.randn(17)
        return values[:-1], values[-1:]


class Data(lightning.LightningDataModule):
    """Training curves from a worker, held-out ones without."""

    def setup(self, stage):
        self.curves = Curves(PER_EPOCH * 2 * 8)
        self.held_out = Curves(64)

    def train_dataloader(self):
        return DataLoader(self.curves, batch_size=8, shuffle=True, num_workers=1, persistent_workers=True, collate_fn=collate)

    def val_dataloader(self):
        return DataLoader(self.held_out, batch_size=16)


def collate(rows):
    """Stack, and scale each curve to its largest value."""
    features = torch.stack([row[0] for row in rows])
    target = torch.stack([row[1] for row in rows])
    scale = features.abs().amax(dim=1, keepdim=True).clamp(min=0.1)
    return features / scale, target / scale


class Forecast(lightning.LightningModule):
    """Two layers."""

    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))
        self.errors = []

    def training_step(self, batch, batch_idx):
        features, target = batch
        guess = self.body(features)
        loss = torch.nn.functional.huber_loss(guess, target)
        time.sleep(0.15)
        self.log("train_loss", loss, prog_bar=True, sync_dist=True)
        return loss

    def validation_step(self, batch, batch_idx):
        features, target = batch
        error = (self.body(features) - target).abs().mean()
        self.errors.append(float(error))
        self.log("val_mae", error, prog_bar=True, sync_dist=True)

    def on_validation_epoch_end(self):
        worst = max(self.errors)
        self.errors.clear()
        self.log("val_worst", worst, sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class Norms(lightning.Callback):
    """Watches the size of the gradients."""

    def __init__(self):
        self.largest = 0.0

    def on_before_optimizer_step(self, trainer, module, optimizer):
        norms = [weight.grad.norm() for weight in module.parameters() if weight.grad is not None]
        total = float(torch.stack(norms).norm())
        self.largest = max(self.largest, total)

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if batch_idx % 10 == 0:
            trainer.strategy.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    lightning.seed_everything(5)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_steps=given.steps,
        callbacks=[Norms(), TQDMProgressBar(refresh_rate=1)],
        default_root_dir=given.folder,
        logger=False,
        log_every_n_steps=1,
    )
    trainer.fit(Forecast(), datamodule=Data())


if __name__ == "__main__":
    main()
