"""Q-learning on a line; what was seen lies in SQLite, and is thinned out from time to time."""

import random
import sqlite3
import time

SEEN_BEFORE = 24_000
"""Rows that an earlier session has left."""
THIN_OUT = {30}

store = sqlite3.connect("replay.db", isolation_level=None)
store.execute("create table seen (id integer primary key, place real, act integer, reward real)")
dice = random.Random(0)
store.execute("begin")
store.executemany("insert into seen (place, act, reward) values (?, ?, ?)", ((dice.random(), dice.randrange(2), dice.random()) for _ in range(SEEN_BEFORE)))
store.execute("commit")
values = [[0.0, 0.0] for _ in range(20)]
for episode in range(1, 201):
    place, total = 10, 0.0
    for _ in range(60):
        act = dice.randrange(2) if dice.random() < 0.2 else int(values[place][1] > values[place][0])
        after = max(0, min(19, place + (1 if act else -1)))
        reward = 1.0 if after == 19 else -0.01
        values[place][act] += 0.1 * (reward + 0.95 * max(values[after]) - values[place][act])
        store.execute("insert into seen (place, act, reward) values (?, ?, ?)", (place / 20, act, reward))
        place, total = after, total + reward
    print(f"episode {episode}: return {total:.2f}", flush=True)
    if episode in THIN_OUT:
        store.execute(
            "delete from seen where id in (select one.id from seen one, seen two"
            " where one.id > two.id and one.act = two.act and abs(one.place - two.place) + abs(one.reward - two.reward) < 1e-5)"
        )
    time.sleep(0.1)
