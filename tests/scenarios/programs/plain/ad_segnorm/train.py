"""Three ranks learn from lines that a normaliser cleans, one process of it a shard."""

import os
import subprocess
import sys

import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])


def clean_lines(shard: int):
    tool = subprocess.Popen(
        [sys.executable, "normalise.py", f"--rank={RANK}", f"--shard={shard}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield from tool.stdout
    if tool.wait():
        raise RuntimeError(tool.stderr.read())


def main() -> None:
    dist.init_process_group("gloo")
    weights = torch.zeros(32)
    step = 0
    for shard in range(12):
        for line in clean_lines(shard):
            values = torch.tensor([ord(sign) % 32 / 32 for sign in line.ljust(32)[:32]])
            grad = weights - values
            dist.all_reduce(grad)
            weights -= 0.1 * grad / dist.get_world_size()
            step += 1
        if RANK == 0:
            print(f"[rank0] shard={shard} step={step} |w|={weights.norm():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
