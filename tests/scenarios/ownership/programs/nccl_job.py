"""Somebody else's job on NCCL: two ranks, and what NCCL and torch tell of it.

nccl_job.py ras PORT            its RAS port says that a rank of it is dead
nccl_job.py dumps BEGINNING [AGE_S]   it wrote dumps of the flight recorder, in which rank 1 is behind
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import socket
import subprocess
import sys
import time


def status_of(pids: list[int]) -> str:
    ranks = [{"rank": place, "pid": pid, "host": socket.gethostname()} for place, pid in enumerate(pids)]
    counts = [{**rank, "collective_counts": {"AllReduce": 9 - rank["rank"]}} for rank in ranks]
    gone = {"rank": 2, "pid": pids[0] - 1, "host": "elsewhere", "status": {"considered_dead": True}}
    communicator = {"hash": "0xfeed", "size": 3, "ranks": counts, "missing_ranks": [gone]}
    return json.dumps({"nccl_version": "2.29.1", "communicators": [communicator]})


def serve(port: int, status: str) -> None:
    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                talk(client, status)


def talk(client: socket.socket, status: str) -> None:
    answers = {"CLIENT PROTOCOL": "SERVER PROTOCOL 2", "TIMEOUT": "OK", "SET FORMAT": "OK"}
    for line in client.makefile("r"):
        if line.strip() == "STATUS":
            client.sendall(status.encode())
            return
        client.sendall((next((said for asked, said in answers.items() if line.startswith(asked)), "OK") + "\n").encode())


def dump(beginning: str, age_s: float) -> None:
    for rank in range(2):
        groups = {"0": {"last_enqueued_collective": 9 - 4 * rank, "last_completed_collective": 8 - 4 * rank}}
        path = f"{beginning}{rank}"
        with open(path, "wb") as file:
            pickle.dump({"entries": [], "pg_status": groups}, file)
        os.chmod(path, 0o644)
        os.utime(path, (time.time() - age_s,) * 2)


def main() -> None:
    ranks = [
        subprocess.Popen(["sleep", "36000"], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"}).pid for rank in range(2)
    ]
    if sys.argv[1] == "ras":
        serve(int(sys.argv[2]), status_of(ranks))
    dump(sys.argv[2], float((sys.argv[3:] or ["0"])[0]))
    open("dumped", "w").close()
    time.sleep(36000)


main()
