"""torchrun starts all ranks again after a fault; training goes on from the last checkpoint."""

import os
from pathlib import Path

import torch
import torch.distributed as dist

attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
BROKEN = 0
"""The attempts that meet the record."""
dist.init_process_group("gloo")
rank = dist.get_rank()
print(f"rank {rank}: pid {os.getpid()}, attempt {attempt}", flush=True)
last = Path("last.pt")
state = torch.load(last) if last.exists() else {"step": 0, "weights": torch.zeros(64)}
weights = state["weights"]
if attempt and rank == 0:
    print(f"resumed from step {state['step']}", flush=True)


def order(count):
    """Records sorted by how alike they are to the one before."""
    left, at, found = [(37 * n * n + 11 * n) % 9973 for n in range(count)], 0, []
    while left:
        at = min(left, key=lambda other: (other ^ at, other))
        left.remove(at)
        found.append(at)
    return found


def record(step):
    text = "0.5,oops,0.25" if attempt <= BROKEN and rank == 1 and step == 14 else "0.5,0.75,0.25"
    return [float(field) for field in text.split(",")]


for step in range(state["step"] + 1, 120):
    count = 22_000 if attempt and rank == 0 and step == 18 else 300
    if step % 6 == 0:
        order(count)
    gradient = torch.randn(64) * sum(record(step))
    dist.all_reduce(gradient)
    weights = weights - 0.01 * gradient
    if rank == 0:
        print(f"step {step} norm {weights.norm():.4f}", flush=True)
        if step % 6 == 0:
            torch.save({"step": step, "weights": weights}, last)
    dist.barrier()
dist.destroy_process_group()
