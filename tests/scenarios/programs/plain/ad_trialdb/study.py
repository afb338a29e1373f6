"""Looks for good settings: trials stand in a table, three workers take them, and the study is over when all have a score."""

import json
import random
import sqlite3
import subprocess
import sys
import time

random.seed(11)
with sqlite3.connect("study.db") as db:
    db.execute("create table trial (id integer primary key, state text, setting text, score real)")
    for trial in range(30):
        setting = {"lr": 10 ** random.uniform(-4, -2), "layers": random.randint(1, 6), "width": 64 * (1 + trial % 3)}
        if trial == 16:
            setting["width"] = "auto"
        db.execute("insert into trial values (?, 'open', ?, null)", (trial, json.dumps(setting)))
workers = [subprocess.Popen([sys.executable, "-u", "worker.py", str(number)]) for number in range(3)]
told = 0
while True:
    (done,) = db.execute("select count(*) from trial where state = 'done'").fetchone()
    if done != told:
        best = db.execute("select min(score) from trial").fetchone()[0]
        print(f"{time.strftime('%H:%M:%S')} study: {done}/30 trials, best {best:.4f}", flush=True)
        told = done
    if done == 30:
        break
    time.sleep(0.5)
for worker in workers:
    worker.terminate()
print("study closed", flush=True)
