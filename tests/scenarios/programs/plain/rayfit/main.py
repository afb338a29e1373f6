"""Ray Train: two workers learn to sort short rows; the first one counts inversions on rows that were kept back."""

import os
import random
from pathlib import Path

import ray
import ray.train
import ray.train.torch
import torch
import torch.distributed as dist
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

KEPT_BACK = 300
LENGTH = 10


def inversions(row):
    return sum(row[i] > row[j] for i in range(len(row)) for j in range(i + 1, len(row)))


def assess(model, count):
    """How much order it brings into long rows, by windows."""
    numbers, before, after = random.Random(1), 0, 0
    for _ in range(count):
        row = [numbers.random() for _ in range(LENGTH)]
        with torch.no_grad():
            places = model(torch.tensor(row)).tolist()
        order = [value for _, value in sorted(zip(places, row))]
        before, after = before + inversions(row), after + inversions(order)
    return after / before


def train_loop(config):
    rank = ray.train.get_context().get_world_rank()
    print(f"worker {rank} has pid {os.getpid()}", flush=True)
    net = torch.nn.Sequential(torch.nn.Linear(LENGTH, 64), torch.nn.ReLU(), torch.nn.Linear(64, LENGTH))
    model = ray.train.torch.prepare_model(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    numbers = torch.Generator().manual_seed(rank)
    for epoch in range(1, 400):
        for _ in range(20):
            rows = torch.rand(32, LENGTH, generator=numbers)
            loss = torch.nn.functional.mse_loss(model(rows), rows.argsort(1).argsort(1) / LENGTH)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        metrics = {"epoch": epoch, "loss": loss.item()}
        if rank == 0 and epoch % config["every"] == 0:
            metrics["left"] = assess(net, config["rows"])
        dist.barrier()
        ray.train.report(metrics)
        if rank == 0:
            print(" ".join(f"{key}={value:.4f}" for key, value in metrics.items()), flush=True)


def main():
    ray.init(num_cpus=4)
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"every": 8, "rows": KEPT_BACK},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(name="sorting", storage_path=str(Path("kept").absolute())),
    )
    trainer.fit()


main()
