"""Three ranks; rank 0 gives checkpoints to a thread, which writes them into the spool while training goes on."""

import os
import pickle
import queue
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

SPOOL = Path("spool")
VOLUMES = 5


class Spooler:
    """Writes one checkpoint after the other; two may wait."""

    def __init__(self) -> None:
        self.states: queue.Queue[tuple[int, bytes]] = queue.Queue(maxsize=2)
        threading.Thread(target=self.write, name="spooler", daemon=True).start()

    def write(self) -> None:
        for count in range(10**6):
            step, state = self.states.get()
            with (SPOOL / f"volume{count % VOLUMES}" / "last").open("wb") as out:
                out.write(state)
            print(f"[rank0] spooled step {step}, {len(state)} bytes", flush=True)


def work(rank: int, meet: str) -> None:
    dist.init_process_group("gloo", init_method=meet, rank=rank, world_size=3)
    print(f"[rank{rank}] pid {os.getpid()} ready", flush=True)
    spooler = Spooler() if rank == 0 else None
    torch.manual_seed(rank)
    weight = torch.zeros(128)
    for step in range(1, 1000):
        batch = torch.randn(32, 128)
        grad = (batch.T @ (batch @ weight - batch.mean(1))) / 32
        dist.all_reduce(grad)
        weight -= 0.02 * grad / 3
        time.sleep(0.18)
        if spooler and step % 10 == 0:
            spooler.states.put((step, pickle.dumps(weight.tolist())))
        if rank == 0:
            print(f"[rank0] step {step} |w| {weight.norm().item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    for number in range(VOLUMES):
        (SPOOL / f"volume{number}").mkdir(parents=True)
    (SPOOL / "volume4" / "last").symlink_to("/dev/full")
    mp.spawn(work, args=(f"file://{Path.cwd()}/meet",), nprocs=3)
