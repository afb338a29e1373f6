"""Starts the processes of a run as the cluster's agent does: with pipes, one log, the worst exit code."""

import os
import subprocess
import sys
import threading

WORLD = 2


def forward(rank: int, process: "subprocess.Popen[bytes]") -> None:
    assert process.stdout
    while piece := process.stdout.read1():
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


environment = os.environ | {
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": sys.argv[1],
    "WORLD_SIZE": str(WORLD),
    "PYTHONUNBUFFERED": "1",
}
processes, threads = [], []
for rank in range(WORLD):
    process = subprocess.Popen(
        [sys.executable, "train.py"],
        env=environment | {"RANK": str(rank)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    threads.append(threading.Thread(target=forward, args=(rank, process)))
    threads[-1].start()
    processes.append(process)
for thread in threads:
    thread.join()
sys.exit(max(process.wait() for process in processes))
