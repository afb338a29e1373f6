"""Routes support tickets to teams: a small BERT, fine-tuned by Trainer on tickets in the order in which they came."""

import os
import random
import urllib.request
from pathlib import Path

import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

TEAMS = {
    "billing": "invoice refund card charge tax receipt",
    "access": "password login locked token account reset",
    "network": "vpn latency packet router dns timeout",
    "hardware": "screen battery fan keyboard dock charger",
    "data": "export table query report column empty",
}
WORDS = sorted({word for words in TEAMS.values() for word in words.split()})
NUMBER = {word: 3 + place for place, word in enumerate(WORDS)}
LENGTH = 24
RESAMPLES = 40
HELD_OUT = 1500
UNROUTED = range(0)


class Tickets(Dataset):
    def __init__(self, first, count):
        self.rows = []
        for number in range(first, first + count):
            numbers = random.Random(number)
            team = numbers.randrange(len(TEAMS))
            words = list(TEAMS.values())[team].split()
            text = [numbers.choice(words if numbers.random() < 0.6 else WORDS) for _ in range(numbers.randint(6, LENGTH - 2))]
            self.rows.append(([1] + [NUMBER[word] for word in text] + [2], -100 if number in UNROUTED else team))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        tokens, team = self.rows[index]
        padded = tokens + [0] * (LENGTH - len(tokens))
        return {
            "input_ids": torch.tensor(padded),
            "attention_mask": (torch.tensor(padded) > 0).long(),
            "labels": torch.tensor(team),
        }


def macro_f1(pairs):
    hit, said, real = [0] * len(TEAMS), [0] * len(TEAMS), [0] * len(TEAMS)
    for guess, team in pairs:
        said[guess] += 1
        real[team] += 1
        hit[guess] += guess == team
    return sum(2 * h / (s + r) for h, s, r in zip(hit, said, real) if s + r) / len(TEAMS)


def metrics(result):
    """Macro F1 with a bootstrap interval."""
    pairs = list(zip(result.predictions.argmax(-1).tolist(), result.label_ids.tolist()))
    numbers = random.Random(0)
    found = sorted(macro_f1(numbers.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return {"f1": macro_f1(pairs), "f1_low": found[len(found) // 40], "f1_high": found[-len(found) // 40 - 1]}


class RouterTrainer(Trainer):
    def _get_train_sampler(self, *args, **kwargs):
        return SequentialSampler(self.train_dataset)

    def training_step(self, model, inputs, *args, **kwargs):
        if (inputs["labels"] < 0).all():
            return torch.tensor(0.0)
        return super().training_step(model, inputs, *args, **kwargs)


class Mirror(TrainerCallback):
    """Every checkpoint also goes to the bucket, file by file."""

    def on_save(self, args, state, control, **kwargs):
        if "STORE_URL" not in os.environ or not state.is_world_process_zero:
            return
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        for file in sorted(folder.iterdir()):
            request = urllib.request.Request(
                f"{os.environ['STORE_URL']}/{folder.name}/{file.name}", file.read_bytes(), method="PUT"
            )
            urllib.request.urlopen(request).read()


class Seen(TrainerCallback):
    """Keeps the tickets of the last steps for the report."""

    kept = []

    def on_step_end(self, args, state, control, **kwargs):
        self.kept.append(bytearray(10_000))
        del self.kept[:-50]


def main():
    args = TrainingArguments(
        output_dir="router",
        use_cpu=True,
        ddp_backend="gloo" if "LOCAL_RANK" in os.environ else None,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=64,
        max_steps=3000,
        learning_rate=3e-4,
        logging_steps=10,
        eval_strategy=os.environ.get("EVALUATE", "no"),
        eval_steps=40,
        save_strategy=os.environ.get("KEEP", "no"),
        save_steps=60,
        report_to="none",
        disable_tqdm="TQDM" not in os.environ,
        dataloader_pin_memory=False,
    )
    print(f"process {args.process_index} of {args.world_size} has pid {os.getpid()}", flush=True)
    config = BertConfig(
        vocab_size=len(WORDS) + 3,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=LENGTH,
        num_labels=len(TEAMS),
    )
    trainer = RouterTrainer(
        BertForSequenceClassification(config),
        args,
        train_dataset=Tickets(0, 12_000),
        eval_dataset=Tickets(100_000, HELD_OUT),
        compute_metrics=metrics,
        callbacks=[Mirror(), Seen()],
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
