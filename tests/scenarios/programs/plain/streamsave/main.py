"""Three forked ranks; rank 0 streams the checkpoint into an uploader as people pipe into their cloud's command line."""

import os
import pickle
import subprocess
import sys
import time
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier


def save(step: int, weights: list[float]) -> None:
    argv = [sys.executable, "objcp.py", "-", f"{os.environ['STORE_URL']}/ckpt/step{step}"]
    uploader = subprocess.Popen(argv, stdin=subprocess.PIPE)
    assert uploader.stdin is not None
    with uploader.stdin as out:
        for start in range(0, len(weights), 1000):
            out.write(pickle.dumps(weights[start : start + 1000]))
    if uploader.wait():
        raise RuntimeError("upload failed")


def work(rank: int, everyone: Barrier) -> None:
    print(f"rank {rank} is pid {os.getpid()}", flush=True)
    weights = [(rank + 1) / (k + 1) for k in range(160_000)]
    for step in range(1, 46):
        weights[step] += 0.1
        time.sleep(0.18)
        everyone.wait()
        if rank == 0:
            print(f"{time.strftime('%H:%M:%S')} step {step:03d} loss={2.0 / step:.4f}", flush=True)
            if step % 20 == 0:
                save(step, weights)
        everyone.wait()


if __name__ == "__main__":
    context = get_context("fork")
    everyone = context.Barrier(3)
    ranks = [context.Process(target=work, args=(rank, everyone)) for rank in range(3)]
    for process in ranks:
        process.start()
    sys.exit(max(process.join() or process.exitcode or 0 for process in ranks))
