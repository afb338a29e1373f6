"""Lightning: tells three kinds of signals apart. Two processes by default, one checkpoint for each second epoch."""

import argparse
import math
import os
import random
import sys
import threading
import time
import urllib.request
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--devices", type=int, default=2)
parser.add_argument("--epochs", type=int, default=200)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--patience", type=int, default=0)
parser.add_argument("--keep", action="store_true")
parser.add_argument("--table", action="store_true")
given = parser.parse_args()


class Decoded:
    """Signals that were decoded once; a thread of the main process decodes ahead."""

    def __init__(self):
        self.lock = threading.Lock()
        self.rows = {}

    def get(self, index):
        with self.lock:
            if index not in self.rows:
                self.rows[index] = self.decode(index)
            return self.rows[index]

    def decode(self, index):
        noise = random.Random(index)
        phase = noise.random() * 6
        return [math.sin(phase + k * (1 + index % 3) / 5) + noise.gauss(0, 0.2) for k in range(64)]

    def ahead(self, first):
        index = first
        while True:
            with self.lock:
                until = time.monotonic() + 0.25
                while time.monotonic() < until:
                    self.rows[index] = self.decode(index)
                    index += 1
            time.sleep(0.001)


class Signals(Dataset):
    def __init__(self, first, count, decoded):
        self.first, self.count, self.decoded = first, count, decoded

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        index += self.first
        return torch.tensor(self.decoded.get(index)), index % 3


class Net(L.LightningModule):
    def __init__(self, width=160):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.GELU(), torch.nn.Linear(width, 3))

    def training_step(self, batch, number):
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, prog_bar=True)
        time.sleep(0.02)
        return loss

    def validation_step(self, batch, number):
        self.log("val_loss", torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1]), sync_dist=True, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=5e-3)


class Lines(Callback):
    """A line an epoch instead of a bar."""

    def on_fit_start(self, trainer, module):
        print(f"rank {trainer.global_rank} is pid {os.getpid()}", flush=True)

    def on_train_epoch_end(self, trainer, module):
        if trainer.is_global_zero:
            shown = {key: f"{value.item():.4f}" for key, value in trainer.callback_metrics.items()}
            print(f"[fit] epoch {trainer.current_epoch} {shown}", flush=True)


class Table(Callback):
    """Counts what each process guesses, class by class."""

    counts = {0: 0, 1: 0, 2: 0}

    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        for kind in module.net(batch[0]).argmax(1).tolist():
            self.counts[kind] += 1
        if trainer.global_rank == 1 and trainer.current_epoch == 6 and number == 5:
            self.counts[f"{batch[1][0].item()}/new"] += 1


class Ahead(Callback):
    def __init__(self, decoded):
        self.decoded = decoded

    def on_train_epoch_end(self, trainer, module):
        if trainer.global_rank == 1 and trainer.current_epoch == 2:
            threading.Thread(target=self.decoded.ahead, args=(5000,), daemon=True).start()


class Uploaded(TorchCheckpointIO):
    """Checkpoints go to a store as soon as they are on the disk."""

    def save_checkpoint(self, checkpoint, path, storage_options=None):
        super().save_checkpoint(checkpoint, path, storage_options)
        size = Path(path).stat().st_size
        print(f"[ckpt] {Path(path).name}: {size} bytes, to the bucket", flush=True)
        with open(path, "rb") as file:
            request = urllib.request.Request(f"{os.environ['STORE_URL']}/{Path(path).name}", data=file, method="PUT")
            request.add_header("Content-Length", str(size))
            urllib.request.urlopen(request).read()


def named(worker):
    print(f"rank {os.environ.get('LOCAL_RANK', '0')} loader {worker}: pid {os.getpid()}", flush=True)


def main():
    L.seed_everything(7)
    decoded = Decoded()
    train = DataLoader(Signals(0, 384, decoded), batch_size=16, shuffle=True, num_workers=given.workers, worker_init_fn=named)
    valid = DataLoader(Signals(1000, 64, decoded), batch_size=32)
    callbacks = [Lines(), Ahead(decoded)] if given.workers else [Lines()]
    if given.table:
        callbacks.append(Table())
    if given.patience:
        callbacks.append(EarlyStopping("val_loss", patience=given.patience, verbose=True))
    if given.keep:
        callbacks.append(ModelCheckpoint("ckpt", every_n_epochs=8, save_top_k=-1))
    trainer = L.Trainer(
        accelerator="cpu",
        devices=given.devices,
        strategy="ddp" if given.devices > 1 else "auto",
        max_epochs=given.epochs,
        callbacks=callbacks,
        plugins=[Uploaded()] if given.keep else None,
        enable_checkpointing=given.keep,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
    )
    trainer.fit(Net(), train, valid)
    return 0


if __name__ == "__main__":
    sys.exit(main())
