"""`python -I -S played_node.py HOST RANKS PROGRAM…`: a node as the program of hangtop tells it, without any process behind it: a
torchrun with its ranks, whose counters move in every look. For many nodes on one machine: each is a process of its own.

It reads the program that is sent, and runs none of it. In the folder $PLAYED_NODES it writes how many bytes a second it tells,
at its first answer."""

from __future__ import annotations

import json
import os
import sys
import threading
import time

EVERY_S = 2.0


def main(host: str, ranks: int) -> None:
    node = int("".join(filter(str.isdigit, host)))
    incoming = sys.stdin.buffer
    incoming.read(int(incoming.readline()))
    say({"hello": True, "boot": f"boot-{node}", "pids": f"pid:[{node}]", "uid": 0, "ticks_per_s": 100, "machine": "x86_64"})
    incoming.readline()
    threading.Thread(target=answer, daemon=True).start()
    say({"boot_at": 1_000_000.0})
    facts = {
        "command": ["/venv/bin/python", "-u", "/home/user/project/train.py", "--config", "configs/pretrain_70b.yaml"],
        "denied": False,
    }
    rows: dict[int, dict[str, object]] = {
        100: {"who": ["pt_elastic", 1, 100, 100, 0, 0, 700], "now": state(0, 0), "details": details(0, 0)}
    }
    rows[100]["facts"] = {"command": ["/venv/bin/python", "/venv/bin/torchrun", "train.py"], "environ": {}, "denied": False}
    for place in range(ranks):
        rank = {"RANK": node * ranks + place, "LOCAL_RANK": place, "WORLD_SIZE": 4096, "MASTER_ADDR": "n0", "MASTER_PORT": 29500}
        environ = {name: str(value) for name, value in rank.items()}
        who = ["python", 100, 100, 100, 0, 0, 800]
        rows[200 + place] = {
            "who": who,
            "now": state(0, place),
            "details": details(0, place),
            "files": [],
            "facts": {**facts, "environ": environ},
        }
    say({"at": time.time(), "rows": rows, "gone": []})
    changed = {200 + place: {"now": state(1, place), "details": details(1, place)} for place in range(ranks)}
    size = len(json.dumps({"at": time.time(), "rows": changed, "gone": []}, separators=(",", ":")))
    with open(os.path.join(os.environ["PLAYED_NODES"], host), "w", encoding="ascii") as file:
        file.write(str(int(size / EVERY_S)))
    for look in range(1, 1_000_000):
        time.sleep(0.3 if look < 5 else EVERY_S)
        changed = {200 + place: {"now": state(look, place), "details": details(look, place)} for place in range(ranks)}
        say({"at": time.time(), "rows": changed, "gone": []})


def state(look: int, place: int) -> list[object]:
    return ["S" if look % 3 else "R", 10_000 + 190 * look + place, 0, 180, 61_300, None]


def details(look: int, place: int) -> list[object]:
    moved = 7_919 * look + place
    return [
        0,
        None,
        "futex_wait_queue",
        10**9 + moved,
        10**8,
        10**10 + moved,
        10**7,
        None,
        10**6 + moved,
        10**12 + 1_900 * moved,
        10**9,
        False,
        4096,
    ]


def answer() -> None:
    for line in iter(sys.stdin.buffer.readline, b""):
        ask = json.loads(line)
        if "ping" in ask:
            say({"pong": ask["ping"], "now": time.time()})


lock = threading.Lock()


def say(record: dict[str, object]) -> None:
    with lock:
        sys.stdout.buffer.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
