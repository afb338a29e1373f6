"""DDP on this machine. When the loss no longer falls, all go back to the best snapshot, one rank at a time: it is big."""

import hashlib
import logging
import os
import signal
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BEST, SIZE_MB, PASSES = Path("best.bin"), 48, 190
wanted = False


def ask(*_: object) -> None:
    """`kill -USR1`: somebody wants a snapshot now."""
    global wanted
    wanted = True


def load(path: Path) -> str:
    """Bytes are only good when their digest is."""
    data, digest = path.read_bytes(), hashlib.sha256()
    for _ in range(PASSES):
        digest.update(data)
    return digest.hexdigest()


def snapshot(log: logging.Logger, step: int, model: nn.Module) -> None:
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), f"snapshot-{step}.pt")
        log.info("snapshot at step %d written", step)
    dist.barrier()


def asked() -> bool:
    """Whether anybody was."""
    flag = torch.tensor(int(wanted))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)


def main() -> None:
    global wanted
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s rank={rank} %(message)s", datefmt="%m/%d %H:%M:%S")
    log = logging.getLogger()
    signal.signal(signal.SIGUSR1, ask)
    log.info("pid=%d world=%d", os.getpid(), size)
    torch.manual_seed(rank)
    if rank == 0:
        BEST.write_bytes(os.urandom(SIZE_MB << 20))
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for step in range(1, 401):
        x = torch.randn(32, 64)
        loss = (model(x).squeeze() - x[:, 0].sin()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.15)
        if rank == 0 and step % 5 == 0:
            log.info("step=%d loss=%.4f", step, loss.item())
        if asked():
            snapshot(log, step, model)
            wanted = False
        if step % 90 == 0:
            if rank == 0:
                log.info("plateau, going back to %s", BEST)
            for turn in range(size):
                if turn == rank:
                    load(BEST)
                dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
