"""Trainer on a toy language model of code; each evaluation runs the unit tests of what it would write, one sandbox each."""

import subprocess

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import EvalPrediction, GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

PROBLEMS = 96


class Toy(Dataset[dict[str, torch.Tensor]]):
    def __init__(self, size: int, seed: int) -> None:
        self.rows = torch.from_numpy(np.random.default_rng(seed).integers(0, 64, (size, 24)))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


def unit_tests(answers: EvalPrediction) -> dict[str, float]:
    """How many pass; a sandbox takes a third of a second to come up."""
    passed = 0
    for problem in range(PROBLEMS):
        guess = int(np.asarray(answers.predictions)[problem % 16].argmax(-1).sum())
        passed += subprocess.run(["sh", "-c", f"sleep 0.3; exit {guess % 3}"], check=False).returncode == 0
    return {"pass_at_1": passed / PROBLEMS}


def main() -> None:
    config = GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=1)
    args = TrainingArguments(
        "out", max_steps=60, per_device_train_batch_size=8, per_device_eval_batch_size=16, eval_strategy="steps", eval_steps=20,
        logging_steps=2, disable_tqdm=True, report_to=[], save_strategy="no", use_cpu=True,
    )  # fmt: skip
    trainer = Trainer(
        GPT2LMHeadModel(config), args, train_dataset=Toy(512, 0), eval_dataset=Toy(16, 1), compute_metrics=unit_tests
    )
    trainer.train()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
