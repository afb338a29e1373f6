"""One rank of three, started by run.sh; a file is the store."""

import json
import os
import sys

import torch
import torch.distributed as dist

rank, world = int(sys.argv[1]), int(sys.argv[2])
print(f"rank {rank}: pid {os.getpid()}", flush=True)
config = json.load(open("config.json"))
mine = config["regions"][rank]
torch.manual_seed(config["seed"])
weights = torch.zeros(mine["width"])
store = dist.FileStore(os.path.abspath("store"), world)
dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
cache = []
for step in range(1, config["steps"] + 1):
    gradient = torch.randn(64)
    cache.append(torch.randn(mine["keep"] * 1024))
    dist.all_reduce(gradient)
    weights[:64] += 0.01 * gradient
    print(f"[rank {rank}] step {step}/{config['steps']} norm {weights.norm():.4f}", flush=True)
    dist.barrier()
    torch.randn(400, 400) @ torch.randn(400, 400)
dist.destroy_process_group()
