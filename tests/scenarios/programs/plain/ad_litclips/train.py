"""Learns to denoise clips; Lightning, two loader workers."""

import os
import time
from pathlib import Path

import lightning
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self) -> None:
        self.paths = sorted(Path("clips").glob("*.pcm"))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, at: int) -> torch.Tensor:
        time.sleep(0.05)
        return torch.from_numpy(np.frombuffer(self.paths[at].read_bytes(), np.float32).copy())


class Denoise(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2000, 32), nn.GELU(), nn.Linear(32, 2000))

    def training_step(self, batch: torch.Tensor, at: int) -> torch.Tensor:
        loss = nn.functional.mse_loss(self.net(batch + 0.3 * torch.randn_like(batch)), batch)
        time.sleep(0.3)
        print(f"batch {at} loss {loss.item():.4f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def greet(worker: int) -> None:
    print(f"loader {worker} is process {os.getpid()}", flush=True)


def main() -> None:
    loader = DataLoader(Clips(), batch_size=4, num_workers=2, worker_init_fn=greet, multiprocessing_context="fork")
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Denoise(), loader)


if __name__ == "__main__":
    main()
