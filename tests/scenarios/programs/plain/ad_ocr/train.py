"""Reads lines of print: a small CTC-less recogniser under the Trainer, measured by character error rate."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

ALPHABET = 40
LENGTH = 512


class Lines(Dataset):
    def __init__(self, size: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, ALPHABET, (size, LENGTH))
        self.strips = self.labels[..., None] / ALPHABET + rng.normal(0, 0.05, (size, LENGTH, 8))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, at: int) -> dict:
        return {"strips": torch.tensor(self.strips[at], dtype=torch.float32), "labels": torch.tensor(self.labels[at])}


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, ALPHABET))

    def forward(self, strips, labels):
        logits = self.body(strips)
        return {"loss": nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


def edit_distance(read: list[int], true: list[int]) -> int:
    row = list(range(len(true) + 1))
    for at, sign in enumerate(read, 1):
        diagonal, row[0] = row[0], at
        for to, other in enumerate(true, 1):
            diagonal, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, diagonal + (sign != other))
    return row[-1]


def error_rate(prediction) -> dict[str, float]:
    read = prediction.predictions.tolist()
    true = prediction.label_ids.tolist()
    wrong = sum(edit_distance(one, other) for one, other in zip(read, true, strict=True))
    return {"cer": wrong / (len(true) * LENGTH)}


def main() -> None:
    arguments = TrainingArguments(
        "out",
        max_steps=60,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=100,
        logging_steps=5,
        eval_strategy="steps",
        eval_steps=20,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
    )
    trainer = Trainer(
        Reader(),
        arguments,
        train_dataset=Lines(2000, 1),
        eval_dataset=Lines(HELD_OUT, 2),
        compute_metrics=error_rate,
        preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1),
    )
    trainer.train()


HELD_OUT = 700

if __name__ == "__main__":
    main()
