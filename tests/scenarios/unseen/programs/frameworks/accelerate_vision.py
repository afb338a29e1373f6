"""A small classifier of made-up images with Accelerate: prepare, gather_for_metrics, a bar of tqdm, checkpoints of its state."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset
from tqdm.auto import tqdm

CLASSES = 5
PER_EPOCH = 60

logger = get_logger(__name__)


class Images(Dataset):
    """Noise around the middle of a class."""

    def __init__(self, count):
        self.count = count
        self.middles = torch.randn(CLASSES, 1, 12, 12, generator=torch.Generator().manual_seed(3))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        label = index % CLASSES
        picture = self.middles[label] + 0.7 * torch.randn(1, 12, 12)
        time.sleep(0.005)
        return augment(picture), label


def augment(picture):
    """Mirror it now and then."""
    if torch.rand(()) < 0.5:
        picture = picture.flip(-1)
    return picture


def build():
    """A few convolutions."""
    layers = [torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(800, CLASSES)]
    return torch.nn.Sequential(*layers)


def evaluate(accelerator, model, loader):
    """Accuracy over all processes."""
    model.eval()
    right, seen = 0, 0
    for pictures, labels in loader:
        with torch.no_grad():
            guesses = model(pictures).argmax(-1)
        guesses, labels = accelerator.gather_for_metrics((guesses, labels))
        right += int((guesses == labels).sum())
        seen += len(labels)
    model.train()
    return right / seen


def train(folder, steps):
    """What each process does."""
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
    logger.info(accelerator.state, main_process_only=False)
    set_seed(7)
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(Images(PER_EPOCH * 16), batch_size=8, shuffle=True)
    held_out = DataLoader(Images(64), batch_size=16)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=steps)
    model, optimizer, loader, held_out, schedule = accelerator.prepare(model, optimizer, loader, held_out, schedule)
    logger.info("***** Running training *****")
    logger.info(f"  Total optimization steps = {steps}")
    bar = tqdm(range(steps), desc="Steps", disable=not accelerator.is_local_main_process)
    done, epoch = 0, 0
    while done < steps:
        for pictures, labels in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(pictures), labels)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            time.sleep(0.06)
            if accelerator.sync_gradients:
                done += 1
                bar.update(1)
                bar.set_postfix(loss=f"{loss.item():.3f}", lr=schedule.get_last_lr()[0])
            if done >= steps:
                break
        epoch += 1
        score = evaluate(accelerator, model, held_out)
        logger.info(f"epoch {epoch}: accuracy {score:.3f}")
        accelerator.wait_for_everyone()
        accelerator.save_state(f"{folder}/state")
    accelerator.end_training()
    logger.info("training finished")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if "RANK" not in os.environ:
        argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "3", *sys.argv]
        os.execv(sys.executable, argv)
    train(given.folder, given.steps)


if __name__ == "__main__":
    main()
