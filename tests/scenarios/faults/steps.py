"""What is done to a log, by the word of a row; any other text is a line that is written to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

HOLE_BYTES = 50 << 20


def written(log: Path, data: bytes) -> None:
    with log.open("ab") as file:
        file.write(data)


def _renamed(log: Path) -> None:
    log.rename(log.with_suffix(".1"))
    log.touch()


def _hole(log: Path) -> None:
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size + HOLE_BYTES)


def _directory(log: Path) -> None:
    log.unlink()
    log.mkdir()


def _loop(log: Path) -> None:
    log.unlink()
    log.symlink_to(log.name)


STEPS: dict[str, Callable[[Path], None]] = {
    "rename": _renamed,
    "truncate": lambda log: os.truncate(log, 0),
    "hole": _hole,
    "remove": lambda log: log.unlink(),
    "forbid": lambda log: log.chmod(0),
    "directory": _directory,
    "loop": _loop,
    "binary": lambda log: log.write_bytes(bytes(range(256)) * 4_000),
    "escapes": lambda log: written(log, b"bell and title \x07\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b5n\x1bc\n"),
    "long": lambda log: written(log, b"x" * (10 << 20) + b"\n"),
    "flood": lambda log: written(log, b"".join(b"a line of the flood, number %d\n" % number for number in range(400_000))),
    "bar": lambda log: written(log, b"".join(b"\rsaving: %d/40" % number for number in range(41))),
    "utf16": lambda log: written(log, "a line of another encoding\n".encode("utf-16-le") + b"\n"),
}


def take(step: str, log: Path) -> None:
    """One step: its word, or the line itself."""
    STEPS.get(step, lambda log: written(log, f"{step}\n".encode()))(log)
