"""Lightning over three processes: a small tagger, validated now and then; the best weights are kept."""

import os
import random

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset

RESAMPLES = {0: 200, 1: 200, 2: 200}
"""By epoch."""
KEEP_BEST_FROM = 10**9


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(24, 48), torch.nn.Tanh(), torch.nn.Linear(48, 4))
        self.errors, self.best = [], 1e9

    def on_fit_start(self):
        print(f"rank {self.global_rank}: pid {os.getpid()}", flush=True)

    def training_step(self, batch, at):
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        if self.global_rank == 0:
            print(f"epoch {self.current_epoch} batch {at + 1}/60 loss {loss.item():.3f}", flush=True)
        return loss

    def on_train_batch_end(self, outputs, batch, at):
        if self.trainer.global_step >= KEEP_BEST_FROM and self.trainer.is_global_zero and float(outputs["loss"]) < self.best:
            self.best = float(outputs["loss"])
            self.trainer.save_checkpoint("best.ckpt")

    def validation_step(self, batch, at):
        self.errors += (self.net(batch[0]).argmax(1) != batch[1]).int().tolist()

    def on_validation_epoch_end(self):
        if self.trainer.is_global_zero and not self.trainer.sanity_checking:
            dice, rates = random.Random(self.current_epoch), []
            for _ in range(RESAMPLES[self.current_epoch]):
                rates.append(sum(dice.choice(self.errors) for _ in self.errors) / len(self.errors))
            rates.sort()
            print(f"val error {rates[len(rates) // 2]:.3f} [{rates[len(rates) // 40]:.3f}, {rates[-len(rates) // 40 - 1]:.3f}]", flush=True)
        self.errors.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-3)


def data(count):
    torch.manual_seed(count)
    return TensorDataset(torch.randn(count, 24), torch.randint(0, 4, (count,)))


trainer = L.Trainer(
    accelerator="cpu",
    devices=3,
    strategy="ddp",
    max_epochs=3,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    num_sanity_val_steps=0,
)
trainer.fit(Tagger(), DataLoader(data(60 * 8 * 3), 8), DataLoader(data(960), 32))
print("fit is over", flush=True)
