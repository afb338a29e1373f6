"""Three forked ranks that meet over a ring of pipes; once an epoch each sorts the ids it has seen with sort(1)."""

import os
import subprocess
import time

WORLD = 3
rings = [os.pipe() for _ in range(WORLD)]


def meet(rank: int) -> None:
    for _ in range(2):
        os.write(rings[(rank + 1) % WORLD][1], b".")
        os.read(rings[rank][0], 1)


def unique(ids: list[int]) -> int:
    with open(f"seen.{os.getpid()}", "wb") as out:
        sorter = subprocess.Popen(["sort", "-n", "-u"], stdin=subprocess.PIPE, stdout=out)
        assert sorter.stdin is not None
        sorter.stdin.write("".join(f"{number}\n" for number in ids).encode())
        sorter.stdin.close()
        sorter.wait()
    with open(f"seen.{os.getpid()}", "rb") as done:
        return len(done.readlines())


def train(rank: int) -> None:
    print(f"[{rank}] started as {os.getpid()}", flush=True)
    seen: list[int] = []
    for step in range(1, 61):
        time.sleep(0.15)
        seen.extend((step * 7919 + rank * 31 + k * k) % 1009 for k in range(40))
        meet(rank)
        if step % 20 == 0:
            print(f"[{rank}] step {step}: {unique(seen)} different ids", flush=True)
        elif rank == 0:
            print(f"[0] step {step}: loss {5 / step:.4f}", flush=True)


children = []
for rank in range(WORLD):
    if not (child := os.fork()):
        train(rank)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
