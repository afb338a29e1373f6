"""Trainings with torch and gloo, started as people start them; in most of them one rank goes wrong.

    guild.py CASE --folder F

Called so it is the launcher; the ranks find RANK in their environment, or are spawned. Every process ends by itself after LIFE_S.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

LIFE_S = 240
HOUR = timedelta(hours=1)


def say(text: str) -> None:
    print(text, flush=True)


def torchrun(case: str, folder: Path, world: int, *options: str) -> None:
    argv = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={world}", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([*argv, *options, __file__, f"rank_of_{case}", "--folder", str(folder)], env=env, check=False)


def free_port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])


def joined(folder: Path):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=HOUR)
    (folder / "imported").touch()
    return torch, dist, dist.get_rank()


# a log of its own for each rank, monitored_barrier


def checked_barrier(folder: Path) -> None:
    """Logs of each rank in a folder; rank 2 sleeps where the others are in monitored_barrier."""
    torchrun("checked_barrier", folder, 4, "--log-dir", str(folder / "logs"), "--redirects", "3")


def rank_of_checked_barrier(folder: Path) -> None:
    torch, dist, rank = joined(folder)
    for step in range(1, 6):
        dist.monitored_barrier(timeout=HOUR)
        time.sleep(0.2)
        say(f"step {step}/50 rank {rank}")
    if rank == 2:
        time.sleep(10_000)
    dist.monitored_barrier(timeout=HOUR)


def short_epoch(folder: Path) -> None:
    """Rank 3 has one batch less and is in the all_gather_object of the evaluation."""
    torchrun("short_epoch", folder, 4)


def rank_of_short_epoch(folder: Path) -> None:
    torch, dist, rank = joined(folder)
    for step in range(1, 8 if rank == 3 else 9):
        time.sleep(0.2)
        dist.all_reduce(torch.ones(1000))
        if rank == 0:
            say(f"epoch 0 step {step}/8 loss {2 / step:.3f}")
    scores: list[object] = [None] * 4
    dist.all_gather_object(scores, {"accuracy": 0.5, "n": rank})


def pipeline(folder: Path) -> None:
    """torch.multiprocessing.spawn, send and recv from stage to stage; stage 1 waits for its own queue and sends nothing."""
    import torch.multiprocessing as spawner

    spawner.spawn(stage, args=(4, free_port(), str(folder)), nprocs=4)


def stage(rank: int, world: int, port: int, folder: str) -> None:
    import queue

    import torch
    import torch.distributed as dist

    signal.alarm(LIFE_S)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world, timeout=HOUR)
    Path(folder, "imported").touch()
    todo: queue.Queue[int] = queue.Queue()
    for step in range(1, 40):
        activations = torch.zeros(16)
        if rank > 0:
            dist.recv(activations, src=rank - 1)
        if rank == 1 and step == 6:
            todo.get()
        time.sleep(0.1)
        if rank < world - 1:
            dist.send(activations + 1, dst=rank + 1)
        else:
            say(f"micro-batch {step}/40 out of the last stage")
        dist.barrier()


def config_from_server(folder: Path) -> None:
    """Rank 0 asks a server for the configuration and gets no answer, the others wait for its broadcast."""
    torchrun("config_from_server", folder, 3)


def rank_of_config_from_server(folder: Path) -> None:
    import urllib.request

    torch, dist, rank = joined(folder)
    say(f"[rank{rank}] initialised, fetching configuration")
    config: list[object] = [None]
    if rank == 0:
        silent = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=lambda: (silent.accept(), threading.Event().wait()), daemon=True).start()
        config[0] = urllib.request.urlopen(f"http://127.0.0.1:{silent.getsockname()[1]}/config.json").read()
    dist.broadcast_object_list(config, src=0)


def skipped_backward(folder: Path) -> None:
    """DistributedDataParallel; rank 1 sees a NaN and skips the backward pass, which the others wait for."""
    torchrun("skipped_backward", folder, 3)


def rank_of_skipped_backward(folder: Path) -> None:
    torch, dist, rank = joined(folder)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, 60):
        time.sleep(0.15)
        loss = model(torch.randn(8, 64)).mean()
        if rank == 1 and step == 8:
            say("rank 1: loss is NaN, skipping this batch")
            continue
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            say(f"step {step}/60 loss {loss.item():.4f}")


def loader_lock(folder: Path) -> None:
    """One process; its DataLoader workers were forked while a thread held a lock."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    lock = threading.Lock()

    class Images(Dataset):
        def __len__(self) -> int:
            return 1000

        def __getitem__(self, index: int):
            with lock:
                return torch.zeros(3)

    (folder / "imported").touch()
    say("epoch 1/10")

    def holds() -> None:
        with lock:
            time.sleep(3)

    threading.Thread(target=holds, daemon=True).start()
    time.sleep(0.3)
    for _batch in DataLoader(Images(), batch_size=8, num_workers=2):
        say("batch")


def loader_slow(folder: Path) -> None:
    """Two ranks; the DataLoader workers of both decode slowly, and work."""
    torchrun("loader_slow", folder, 2)


def rank_of_loader_slow(folder: Path) -> None:
    torch, dist, rank = joined(folder)
    from torch.utils.data import DataLoader, Dataset

    class Videos(Dataset):
        def __len__(self) -> int:
            return 1000

        def __getitem__(self, index: int):
            ends = time.monotonic() + 12
            while time.monotonic() < ends:
                torch.randn(120, 120) @ torch.randn(120, 120)
            return torch.zeros(3)

    say(f"[rank{rank}]: building the first batch of epoch 1")
    for step, _batch in enumerate(DataLoader(Videos(), batch_size=4, num_workers=1)):
        dist.all_reduce(torch.ones(1))
        say(f"[rank{rank}]: step {step}")


def saves(folder: Path) -> None:
    """Rank 0 saves with torch.save for long, the others are in a barrier."""
    torchrun("saves", folder, 3)


def rank_of_saves(folder: Path) -> None:
    torch, dist, rank = joined(folder)
    for step in range(1, 6):
        time.sleep(0.2)
        dist.all_reduce(torch.ones(1))
        if rank == 0:
            say(f"step {step}/500 loss {2 / step:.3f}")
    if rank == 0:
        say("Saving model checkpoint to out/checkpoint-5")
        weights = {"w": torch.randn(3_000_000)}
        for part in range(2000):
            torch.save(weights, folder / f"part-{part % 4}.pt")
            time.sleep(0.15)
    dist.barrier()


def teed_exit(folder: Path) -> None:
    """Output through --tee; rank 2 leaves with os._exit(0)."""
    torchrun("teed_exit", folder, 4, "--tee", "3", "--log-dir", str(folder / "ranks"))


def rank_of_teed_exit(folder: Path) -> None:
    torch, dist, rank = joined(folder)
    for step in range(1, 50):
        time.sleep(0.2)
        if rank == 2 and step == 6:
            os._exit(0)
        dist.all_reduce(torch.ones(1))
        say(f"step {step}/50")


def sharded(folder: Path) -> None:
    """all_gather_into_tensor and reduce_scatter as in FSDP; rank 1 looks for a length that never comes."""
    torchrun("sharded", folder, 4)


def rank_of_sharded(folder: Path) -> None:
    torch, dist, rank = joined(folder)
    shard = torch.ones(256)
    for step in range(1, 50):
        full = torch.empty(1024)
        dist.all_gather_into_tensor(full, shard)
        time.sleep(0.1)
        if rank == 1 and step == 6:
            pack(list(range(0, 64, 2)))
        dist.all_reduce(full)
        if rank == 0:
            say(f"step {step}/50 grad_norm {1 / step:.3f}")


def pack(lengths: list[int]) -> None:
    at = 0
    while True:
        if lengths[at % len(lengths)] == 63:
            return
        at += 1


def three_of_four(folder: Path) -> None:
    """Three of four ranks were started by hand; init_process_group waits for the fourth."""
    port = str(free_port())
    ranks = []
    for rank in range(3):
        env = os.environ | {"RANK": str(rank), "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks.append(subprocess.Popen([sys.executable, __file__, "rank_of_three_of_four", "--folder", str(folder)], env=env))
    for process in ranks:
        process.wait()


def rank_of_three_of_four(folder: Path) -> None:
    import torch  # noqa: F401

    (folder / "imported").touch()
    say("initializing distributed")
    joined(folder)


def second_life(folder: Path) -> None:
    """torchrun starts all again after an error of rank 0; in its second life rank 1 waits for a condition."""
    torchrun("second_life", folder, 3, "--max-restarts", "2")


def rank_of_second_life(folder: Path) -> None:
    import torch
    import torch.distributed as dist

    life, rank = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["RANK"])
    dist.init_process_group("gloo", init_method=f"file://{folder}/store{life}", rank=rank, world_size=3, timeout=HOUR)
    (folder / "imported").touch()
    for step in range(1, 50):
        time.sleep(0.2)
        if life == 0 and step == 4 and rank == 0:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        if life == 1 and step == 4 and rank == 1:
            ready = threading.Condition()
            with ready:
                ready.wait()
        dist.all_reduce(torch.ones(1))
        if rank == 0:
            say(f"step {step}/50 loss {2 / step:.3f}")


def healthy(folder: Path) -> None:
    """Two ranks that train."""
    torchrun("healthy", folder, 2)


def rank_of_healthy(folder: Path) -> None:
    torch, dist, rank = joined(folder)
    for step in range(1, 900):
        time.sleep(0.3)
        dist.all_reduce(torch.ones(100))
        if rank == 0:
            say(f"step {step}/900 loss {2 / step:.3f}")


if __name__ == "__main__":
    signal.alarm(LIFE_S)
    globals()[sys.argv[1]](Path(sys.argv[sys.argv.index("--folder") + 1]))
