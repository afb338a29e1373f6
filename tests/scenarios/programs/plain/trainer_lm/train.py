"""A very small causal language model, trained by Trainer on the sources of Python's library, with a vocabulary of its own."""

import json
import os
import sysconfig
from collections import Counter
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

MERGES = 20
TEXT = 60_000
BLOCK = 48


def merged(tokens, pair, new):
    out, i = [], 0
    while i < len(tokens):
        if i + 1 < len(tokens) and tokens[i] == pair[0] and tokens[i + 1] == pair[1]:
            out.append(new)
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out


def corpus_tokens(cache):
    """Byte pair encoding, learned on the corpus itself; the second process finds the cache."""
    if cache.exists():
        return json.loads(cache.read_text())
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    text = b"".join(path.read_bytes() for path in files)[:TEXT]
    print(f"learning {MERGES} merges on {len(text)} bytes", flush=True)
    tokens = list(text)
    for number in range(MERGES):
        pair = Counter(zip(tokens, tokens[1:])).most_common(1)[0][0]
        tokens = merged(tokens, pair, 256 + number)
    cache.write_text(json.dumps(tokens))
    return tokens


class Blocks(Dataset):
    def __init__(self, tokens):
        self.rows = torch.tensor(tokens[: len(tokens) // BLOCK * BLOCK]).view(-1, BLOCK)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


class EvalNow(TrainerCallback):
    """At odd moments, not only where the arguments say."""

    trainer = None

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 16:
            self.trainer.evaluate()


args = TrainingArguments(
    output_dir="out",
    use_cpu=True,
    ddp_backend="gloo",
    per_device_train_batch_size=4,
    max_steps=300,
    logging_steps=2,
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
    dataloader_pin_memory=False,
)
print(f"rank {args.process_index}: pid {os.getpid()}", flush=True)
with args.main_process_first(desc="tokenisation"):
    tokens = corpus_tokens(Path("tokens.json"))
model = GPT2LMHeadModel(GPT2Config(vocab_size=256 + MERGES, n_positions=BLOCK, n_embd=48, n_layer=2, n_head=4))
blocks = Blocks(tokens)
callback = EvalNow()
held_out = torch.utils.data.Subset(blocks, range(24))
trainer = Trainer(model=model, args=args, train_dataset=blocks, eval_dataset=held_out, callbacks=[callback])
callback.trainer = trainer
trainer.train()
