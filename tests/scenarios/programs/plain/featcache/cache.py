"""Features by key, in a folder that several processes share; a lock file guards its table of contents."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path("cache")


@contextmanager
def guarded() -> Iterator[None]:
    ROOT.mkdir(exist_ok=True)
    handle = os.open(ROOT / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def contents() -> dict[str, int]:
    path = ROOT / "contents.json"
    return json.loads(path.read_text()) if path.exists() else {}


def lookup(key: str) -> int | None:
    with guarded():
        return contents().get(key)


def store(key: str, value: int) -> None:
    with guarded():
        (ROOT / "contents.json").write_text(json.dumps({**contents(), key: value}))


def rehash(rounds: int) -> None:
    """Keys of the old scheme get new values; nobody may read meanwhile."""
    with guarded():
        table = contents()
        for key, value in table.items():
            for _ in range(rounds):
                value = (value * 1103515245 + 12345) % 2147483648
            table[key] = value
        (ROOT / "contents.json").write_text(json.dumps(table))
