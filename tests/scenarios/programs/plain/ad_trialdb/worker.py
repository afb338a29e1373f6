"""Takes open trials, one after the other."""

import json
import os
import sqlite3
import sys
import time

import numpy as np

name = f"worker-{sys.argv[1]}"
print(f"{name} ready, pid {os.getpid()}", flush=True)
db = sqlite3.connect("study.db", timeout=30, isolation_level=None)


def take() -> tuple[int, dict] | None:
    db.execute("begin immediate")
    row = db.execute("select id, setting from trial where state = 'open' order by id limit 1").fetchone()
    if row:
        db.execute("update trial set state = 'running' where id = ?", (row[0],))
    db.execute("commit")
    return (row[0], json.loads(row[1])) if row else None


def score(setting: dict) -> float:
    rng = np.random.default_rng(setting["layers"])
    state = rng.normal(0, 1, (64, setting["width"]))
    for _ in range(setting["layers"]):
        state = np.tanh(state @ rng.normal(0, 0.1, (setting["width"], setting["width"])))
    time.sleep(1.0)
    return float(state.var() + setting["lr"])


while True:
    if not (trial := take()):
        time.sleep(1)
        continue
    number, setting = trial
    print(f"{name} pid {os.getpid()} runs trial {number} {setting}", flush=True)
    db.execute("update trial set state = 'done', score = ? where id = ?", (score(setting), number))
