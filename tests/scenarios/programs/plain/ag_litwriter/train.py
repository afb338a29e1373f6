"""Lightning with a metrics file that a thread writes, so that the disk never holds the training up."""

import queue
import threading
from pathlib import Path
from typing import Any

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 1))

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], index: int) -> torch.Tensor:
        loss = nn.functional.mse_loss(self.body(batch[0]), batch[1])
        if index % 10 == 0:
            print(f"epoch {self.current_epoch} batch {index}/40 loss {loss.item():.4f}", flush=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class MetricsFile(lightning.Callback):
    """`rows` are handed over under the lock; the writer takes them under the same one."""

    def __init__(self, path: Path) -> None:
        self.lock, self.wake, self.rows, self.path = threading.Lock(), threading.Event(), queue.Queue[str](32), path
        threading.Thread(target=self._write, daemon=True).start()

    def _write(self) -> None:
        while self.wake.wait():
            self.wake.clear()
            with self.lock, self.path.open("a") as file:
                while not self.rows.empty():
                    file.write(self.rows.get() + "\n")
                if file.tell() > 2500:
                    self._rotate()

    def _rotate(self) -> None:
        self.path.rename(self.path.with_suffix(".old.csv"))

    def on_train_batch_end(self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, index: int) -> None:
        threading.Event().wait(0.03)
        self.rows.put(f"{trainer.global_step},{float(outputs['loss']):.5f}")
        if self.rows.qsize() > 8:
            self.wake.set()

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: Any) -> None:
        self.wake.set()
        with self.lock:
            print(f"metrics: {trainer.global_step} rows handed over", flush=True)


def main() -> None:
    data = TensorDataset(torch.randn(640, 20), torch.randn(640, 1))
    trainer = lightning.Trainer(
        max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        callbacks=[MetricsFile(Path("metrics.csv"))],
    )  # fmt: skip
    trainer.fit(Net(), DataLoader(data, batch_size=16))
    print("fit done", flush=True)


if __name__ == "__main__":
    main()
