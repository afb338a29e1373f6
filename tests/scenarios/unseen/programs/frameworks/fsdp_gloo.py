"""A small transformer whose weights torch's fully_shard spreads over three ranks, with checkpoints of torch.distributed."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

WIDTH = 24
log = logging.getLogger("train")


class Block(torch.nn.Module):
    """Attention and a layer behind it."""

    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.layer = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, values):
        mixed, _ = self.attention(values, values, values, need_weights=False)
        values = values + mixed
        return values + torch.tanh(self.layer(values))


class Model(torch.nn.Module):
    """Embedding, blocks, head."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(64, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))
        self.head = torch.nn.Linear(WIDTH, 64)

    def forward(self, tokens):
        values = self.embedding(tokens)
        for block in self.blocks:
            values = block(values)
        return self.head(values)


def tokens_of(step, rank):
    """Counting, from a random begin."""
    generator = torch.Generator().manual_seed(1000 * step + rank)
    begin = torch.randint(0, 64, (8, 1), generator=generator)
    time.sleep(0.03)
    return (begin + torch.arange(13)) % 64


def mean_over_ranks(value):
    """One number for all."""
    total = torch.tensor([value])
    dist.all_reduce(total)
    return float(total) / dist.get_world_size()


def save(model, folder, step):
    """Each rank writes its part."""
    began = time.monotonic()
    state = {"model": get_model_state_dict(model)}
    checkpoint.save(state, checkpoint_id=f"{folder}/checkpoint")
    dist.barrier()
    if dist.get_rank() == 0:
        log.info("saved checkpoint at step %d in %.2f s", step, time.monotonic() - began)


def train(folder, steps):
    """What each rank does."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = Model()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(1, steps + 1):
        began = time.monotonic()
        tokens = tokens_of(step, rank)
        logits = model(tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.1)
        mean = mean_over_ranks(loss.item())
        size = float(norm.full_tensor())
        if rank == 0:
            speed = tokens.numel() * dist.get_world_size() / (time.monotonic() - began)
            log.info("step: %2d  loss: %7.4f  grad_norm: %6.3f  tps: %.0f", step, mean, size, speed)
        if step % 15 == 0:
            save(model, folder, step)
    if rank == 0:
        log.info("Training completed")
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    logging.basicConfig(format="[%(name)s] %(asctime)s - %(levelname)s - %(message)s", level=logging.INFO)
    torch.set_num_threads(1)
    if "RANK" not in os.environ:
        argv = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "3", *sys.argv]
        os.execv(sys.executable, argv)
    train(given.folder, given.steps)


if __name__ == "__main__":
    main()
