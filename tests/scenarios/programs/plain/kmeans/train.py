"""DDP with a codebook: rank 0 makes clusters anew every 20 steps, until nothing moves, and broadcasts the centres."""

import time

import torch
import torch.distributed as dist


def clusters(points: list[float], count: int, tolerance: float = 1e-3) -> list[float]:
    centres = sorted(points)[:: len(points) // count][:count]
    while True:
        groups: list[list[float]] = [[] for _ in centres]
        for point in points:
            groups[min(range(len(centres)), key=lambda index: abs(centres[index] - point))].append(point)
        moved = [sum(group) / len(group) if group else centre for group, centre in zip(groups, centres, strict=True)]
        if max(abs(old - new) for old, new in zip(centres, moved, strict=True)) < tolerance:
            return moved
        centres = moved


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    weight = torch.randn(64, 8)
    for step in range(1, 200):
        gradient = weight * 0.01 + torch.randn(64, 8) * 0.001
        dist.all_reduce(gradient)
        weight -= gradient
        if step % 20 == 0:
            book = torch.zeros(8)
            if rank == 0:
                book = torch.tensor(clusters(weight.flatten().tolist(), 8))
            dist.broadcast(book, 0)
        time.sleep(0.15)
        if rank == 1:
            print(f"(rank 1) step {step} norm {weight.norm().item():.4f}", flush=True)
    dist.destroy_process_group()


main()
