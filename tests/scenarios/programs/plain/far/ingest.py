"""Fills a table of a database that others use too; then many days at once, in one transaction."""

import hashlib
import sqlite3
import sys
import time
from pathlib import Path

seconds = float(sys.argv[1])
path = Path("features.db").resolve()
base = sqlite3.connect(path, timeout=600, isolation_level=None)
base.execute("PRAGMA journal_mode=DELETE")
base.execute("CREATE TABLE feature(day INTEGER, name TEXT, value REAL)")
base.execute("CREATE TABLE raw(id INTEGER PRIMARY KEY, body BLOB)")
print(path, flush=True)
while base.execute("SELECT COUNT(DISTINCT day) FROM feature").fetchone()[0] < 9:
    time.sleep(0.3)
base.execute("BEGIN IMMEDIATE")
ends, value = time.time() + seconds, b""
while time.time() < ends:
    for _ in range(5000):
        value = hashlib.sha256(value).digest()
    base.execute("INSERT INTO raw(body) VALUES (?)", (value * 40,))
base.execute("COMMIT")
while True:
    time.sleep(30)
