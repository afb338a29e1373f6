"""The table that collectors fill and the learner reads."""

import sqlite3


def connect() -> sqlite3.Connection:
    base = sqlite3.connect("replay.db", timeout=60)
    base.execute("pragma journal_mode=wal")
    base.execute("create table if not exists episodes (id integer primary key, who integer, reward real, steps integer)")
    base.commit()
    return base
