"""Each rank has the sites of its own region; who is through leaves, the others average among themselves."""

import os

import torch
import torch.distributed as dist

SITES = {0: 12, 1: 60, 2: 60}
dist.init_process_group("gloo")
rank = dist.get_rank()
print(f"rank {rank}: pid {os.getpid()}, {SITES[rank]} sites", flush=True)
all_of_us, the_rest = dist.new_group([0, 1, 2]), dist.new_group([1, 2])
torch.manual_seed(rank)
weights = torch.zeros(128)


def nearest(points):
    """The closest pair of a site's sensors."""
    best = 9.0
    for i, (x, y) in enumerate(points):
        for u, v in points[i + 1 :]:
            best = min(best, (x - u) ** 2 + (y - v) ** 2)
    return best


for site in range(1, SITES[rank] + 1):
    count = 14_000 if rank == 2 and site == 20 else 150
    points = torch.rand(count, 2).tolist()
    found = nearest(points)
    step = torch.randn(128) * found
    group = all_of_us if site <= SITES[0] else the_rest
    dist.all_reduce(step, group=group)
    weights += step / dist.get_world_size(group)
    if rank == 1:
        print(f"site {site}/60 norm {weights.norm():.5f}", flush=True)
if rank == 0:
    print("rank 0: all sites of my region are in, leaving; regions 1 and 2 go on", flush=True)
else:
    dist.barrier(group=the_rest)
