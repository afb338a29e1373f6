"""transformers' Trainer on crops of scans: each crop shows enough of the organ. Metrics are given with an interval."""

import os
import random

import numpy as np
import torch
from torch.utils.data import Dataset, get_worker_info
from transformers import Trainer, TrainingArguments

SIDE, CROP, ENOUGH = 48, 16, 6
EMPTY = {}
"""Scans on which the annotator has marked nothing."""
RESAMPLES = 60
told = set()


class Scans(Dataset):
    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        info = get_worker_info()
        if info is not None and os.getpid() not in told:
            told.add(os.getpid())
            print(f"loader {info.id} of {info.num_workers}: pid {os.getpid()}", flush=True)
        dice = np.random.default_rng((self.seed, index))
        scan = dice.normal(size=(SIDE, SIDE)).astype(np.float32)
        mask = np.zeros((SIDE, SIDE), dtype=np.float32)
        if index not in EMPTY:
            row, column = dice.integers(8, SIDE - 20, 2)
            mask[row : row + 12, column : column + 12] = 1
        while True:
            top, left = dice.integers(0, SIDE - CROP, 2)
            shown = mask[top : top + CROP, left : left + CROP]
            if shown.sum() >= ENOUGH:
                break
        label = int(shown.sum() > CROP * CROP / 4)
        return {"x": torch.from_numpy(scan[top : top + CROP, left : left + CROP] + shown), "labels": label}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(CROP * CROP, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))

    def forward(self, x, labels=None):
        logits = self.body(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def area(scores, labels):
    """Under the curve: of all pairs, how many are in order."""
    good = [score for score, label in zip(scores, labels) if label]
    bad = [score for score, label in zip(scores, labels) if not label]
    return sum((one > two) + 0.5 * (one == two) for one in good for two in bad) / max(len(good) * len(bad), 1)


def metrics(given):
    scores = (given.predictions[:, 1] - given.predictions[:, 0]).tolist()
    labels = given.label_ids.tolist()
    areas = []
    for _ in range(RESAMPLES):
        taken = random.choices(range(len(labels)), k=len(labels))
        areas.append(area([scores[at] for at in taken], [labels[at] for at in taken]))
    return {"auc": area(scores, labels), "low": float(np.quantile(areas, 0.025)), "high": float(np.quantile(areas, 0.975))}


arguments = TrainingArguments(
    "out",
    use_cpu=True,
    per_device_train_batch_size=8,
    per_device_eval_batch_size=32,
    num_train_epochs=3,
    logging_steps=5,
    eval_strategy="steps",
    eval_steps=25,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
    dataloader_num_workers=2,
    dataloader_persistent_workers=True,
    seed=11,
)
Trainer(Net(), arguments, train_dataset=Scans(1600, 1), eval_dataset=Scans(480, 2), compute_metrics=metrics).train()
print("done", flush=True)
