"""Preference tuning of a tiny model with Trainer, two processes: torchrun --nproc-per-node 2 train.py"""

import random

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

BETA = 0.1


class Pairs(Dataset):
    def __init__(self, rows: int) -> None:
        rng = random.Random(0)
        self.rows = []
        for number in range(rows):
            prompt = [rng.randrange(2, 120) for _ in range(6)]
            chosen = [rng.randrange(2, 60) for _ in range(rng.randint(4, 12))]
            rejected = [rng.randrange(60, 120) for _ in range(rng.randint(4, 12))]
            self.rows.append({"id": f"pair-{number:05d}", "prompt": prompt, "chosen": chosen, "rejected": rejected})
        self.rows[77]["rejected"] = []

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int):
        return self.rows[index]


def collate(rows):
    for row in rows:
        if not row["chosen"] or not row["rejected"]:
            raise ValueError(f"{row['id']}: a preference pair needs two answers, got {len(row['chosen'])} and {len(row['rejected'])} tokens")
    sequences = [row["prompt"] + row[side] for side in ("chosen", "rejected") for row in rows]
    width = max(map(len, sequences))
    ids = torch.tensor([sequence + [0] * (width - len(sequence)) for sequence in sequences])
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


class DPOTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **_):
        logits = model(**inputs).logits[:, :-1]
        picked = torch.log_softmax(logits, -1).gather(2, inputs["input_ids"][:, 1:, None]).squeeze(2)
        chosen, rejected = (picked * inputs["attention_mask"][:, 1:]).sum(1).chunk(2)
        return -torch.nn.functional.logsigmoid(BETA * (chosen - rejected)).mean()


def main() -> None:
    set_seed(5)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=32, n_embd=32, n_layer=2, n_head=2))
    args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, max_steps=60, logging_steps=2, save_strategy="no",
                             report_to=[], use_cpu=True, remove_unused_columns=False, disable_tqdm=False)
    DPOTrainer(model=model, args=args, train_dataset=Pairs(160), data_collator=collate).train()


if __name__ == "__main__":
    main()
