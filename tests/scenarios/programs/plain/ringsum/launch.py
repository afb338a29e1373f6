"""Starts the ranks of a ring. What rank 0 prints is shown, what the others print goes to outs/.

    python launch.py --nproc 5 train_ring.py
"""

import argparse
import os
import subprocess
import sys
import threading
from pathlib import Path


def pump(child: subprocess.Popen, rank: int) -> None:
    with Path(f"outs/rank{rank}.txt").open("w") as out:
        for line in child.stdout:
            out.write(line)
            out.flush()
            if rank == 0:
                print(line, end="", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nproc", type=int, required=True)
    parser.add_argument("script")
    args = parser.parse_args()
    Path("outs").mkdir(exist_ok=True)
    base = 20000 + os.getpid() % 20000
    children, threads = [], []
    print(f"launcher pid {os.getpid()}, ring of {args.nproc}, ports from {base}", flush=True)
    for rank in range(args.nproc):
        env = os.environ | {"RANK": str(rank), "WORLD_SIZE": str(args.nproc), "RING_PORT": str(base)}
        child = subprocess.Popen(
            [sys.executable, "-u", args.script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=env,
        )
        print(f"  rank {rank}: pid {child.pid}", flush=True)
        children.append(child)
        threads.append(threading.Thread(target=pump, args=(child, rank), name=f"rank{rank}-output"))
        threads[-1].start()
    codes = [child.wait() for child in children]
    for thread in threads:
        thread.join()
    print(f"exit codes {codes}", flush=True)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
