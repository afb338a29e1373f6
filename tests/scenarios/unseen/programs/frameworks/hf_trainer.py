"""A tiny causal language model under transformers' Trainer and torchrun: own dataset, collator, callback and metrics."""

from __future__ import annotations

import argparse
import os
import sys
import time

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

VOCABULARY = 120


class Sentences(Dataset):
    """Rows of made-up tokens, of different lengths."""

    def __init__(self, rows, seed):
        self.rows = rows
        self.seed = seed

    def __len__(self):
        return self.rows

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.seed + index)
        length = int(torch.randint(8, 20, (1,), generator=generator))
        tokens = torch.randint(1, VOCABULARY, (length,), generator=generator)
        time.sleep(0.01)
        return {"input_ids": tokens}


def collate(rows):
    """Pad to the longest of the batch."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros(len(rows), longest, dtype=torch.long)
    for place, row in enumerate(rows):
        ids[place, : len(row["input_ids"])] = row["input_ids"]
        mask[place, : len(row["input_ids"])] = 1
    labels = ids.masked_fill(mask == 0, -100)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


class Pace(TrainerCallback):
    """Looks at the time that a step takes, and keeps a moving mean of the loss."""

    def __init__(self):
        self.began = time.monotonic()
        self.mean = None

    def on_step_begin(self, args, state, control, **others):
        self.began = time.monotonic()
        time.sleep(0.12)

    def on_step_end(self, args, state, control, **others):
        took = time.monotonic() - self.began
        if took > 60:
            print(f"step {state.global_step} took {took:.0f} s")

    def on_log(self, args, state, control, logs=None, **others):
        loss = float((logs or {}).get("loss", 0.0))
        self.mean = loss if self.mean is None else 0.9 * self.mean + 0.1 * loss


def accuracy(prediction):
    """Share of tokens guessed right."""
    guesses = prediction.predictions.argmax(-1)[:, :-1]
    labels = prediction.label_ids[:, 1:]
    known = labels != -100
    right = (guesses == labels) & known
    return {"accuracy": float(right.sum() / known.sum())}


def train(folder, steps):
    """What each rank does."""
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)
    arguments = TrainingArguments(
        output_dir=f"{folder}/out",
        max_steps=steps,
        per_device_train_batch_size=8,
        learning_rate=1e-3,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=20,
        save_steps=40,
        save_total_limit=1,
        use_cpu=True,
        report_to=[],
        ddp_backend="gloo",
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        data_collator=collate,
        train_dataset=Sentences(4000, seed=1),
        eval_dataset=Sentences(32, seed=90000),
        compute_metrics=accuracy,
        callbacks=[Pace()],
    )
    trainer.train()
    if trainer.is_world_process_zero():
        print("training is done")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if "RANK" not in os.environ:
        argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *sys.argv]
        os.execv(sys.executable, argv)
    train(given.folder, given.steps)


if __name__ == "__main__":
    main()
