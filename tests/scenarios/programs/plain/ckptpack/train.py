"""DDP with torchrun; the main process packs each checkpoint for the archive, the others wait for it."""

import os
import subprocess
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def save(step: int, net: nn.Module, optimizer: torch.optim.Optimizer, table: torch.Tensor) -> None:
    """The embeddings are large; the archive wants one small file."""
    if dist.get_rank() == 0:
        os.makedirs("ckpt", exist_ok=True)
        path = f"ckpt/step_{step:06d}.pt"
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "table": table}, path)
        level = "-3" if step < 60 else "-19"
        subprocess.run(f"tar -C ckpt -cf - {os.path.basename(path)} | zstd -q {level} -o {path}.tar.zst", shell=True, check=True)
        os.remove(path)
    dist.barrier()


def main() -> None:
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    torch.manual_seed(rank)
    table = torch.randint(0, 256, (int(os.environ.get("ROWS", "20000")), 256)).to(torch.float16)
    net = DDP(nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(1, 601):
        x = table[torch.randint(0, len(table), (32,))].float() / 256
        loss = (net(x) - x.mean(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.1)
        if step % 10 == 0 and rank == 0:
            print(f"step: {step:>6} | loss: {loss.item():.5f} | lr: 1.0e-03", flush=True)
        if step % 30 == 0:
            save(step, net, optimizer, table)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
