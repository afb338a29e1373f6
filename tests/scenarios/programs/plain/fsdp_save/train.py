"""fully_shard over two ranks; rank 0 packs the gathered weights in the background as small as it can, one save at a time."""

import io
import lzma
import os
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

EVERY = 10
SETTINGS = [(lc, lp, pb) for lc in range(4) for lp in range(2) for pb in (0, 1, 2)]

dist.init_process_group("gloo")
rank = dist.get_rank()
print(f"rank {rank}: pid {os.getpid()}", flush=True)
torch.manual_seed(0)
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(6)))
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
pool, pending = ThreadPoolExecutor(1), None


def packed(weights, step):
    buffer = io.BytesIO()
    torch.save(weights, buffer)
    tried = []
    for lc, lp, pb in SETTINGS:
        chain = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": lc, "lp": lp, "pb": pb}]
        tried.append(lzma.compress(buffer.getvalue(), filters=chain))
    body = min(tried, key=len)
    with open(f"step{step}.pt.xz", "wb") as file:
        file.write(body)
    return len(body)


for step in range(1, 60):
    batch = torch.randn(16, 256)
    loss = (model(batch) - batch.roll(1, 1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0:
        print(f"step {step}/60 loss {loss.item():.4f}", flush=True)
    if step % EVERY == 0:
        weights = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        if rank == 0:
            if pending is not None:
                print(f"the save before took {pending.result()} bytes", flush=True)
            pending = pool.submit(packed, weights, step)
dist.destroy_process_group()
