"""Trainer, three ranks; each stops when its own part of the development set gets no better, then all meet before the upload."""

import os

import torch
import torch.distributed as dist
from transformers import Trainer, TrainerCallback, TrainingArguments


class Waves(torch.utils.data.Dataset):
    def __init__(self, size, seed):
        self.x = torch.randn(size, 24, generator=torch.Generator().manual_seed(seed))
        self.y = torch.sin(self.x.sum(1, keepdim=True))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        return {"x": self.x[at], "y": self.y[at]}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(24, 48), torch.nn.Tanh(), torch.nn.Linear(48, 1))

    def forward(self, x, y):
        return {"loss": (self.net(x) - y).square().mean()}


class OwnDev(TrainerCallback):
    """Patience over this rank's part."""

    def __init__(self, rank, patience):
        self.part, self.best, self.bad, self.patience = Waves(40, 90 + rank), float("inf"), 0, patience

    def on_step_end(self, args, state, control, model=None, **others):
        with torch.no_grad():
            now = model.module(self.part.x, self.part.y)["loss"].item() if hasattr(model, "module") else model(self.part.x, self.part.y)["loss"].item()
        self.bad = 0 if now < self.best else self.bad + 1
        self.best = min(now, self.best)
        if state.is_world_process_zero:
            print(f"{{'step': {state.global_step}, 'dev': {now:.4f}, 'since_best': {self.bad}}}", flush=True)
        if self.bad >= self.patience:
            control.should_training_stop = True


def main():
    arguments = TrainingArguments(
        output_dir="out", per_device_train_batch_size=8, max_steps=2000, save_strategy="no", report_to=[], use_cpu=True,
        logging_strategy="no", disable_tqdm=True, ddp_backend="gloo", learning_rate=3e-2,
    )
    trainer = Trainer(Net(), arguments, train_dataset=Waves(60000, 1))
    rank = dist.get_rank()
    print(f"[rank{rank}] pid {os.getpid()} ready", flush=True)
    trainer.add_callback(OwnDev(rank, (40, 40, 12)[rank]))
    trainer.train()
    dist.barrier()
    print("uploaded", flush=True)


if __name__ == "__main__":
    main()
