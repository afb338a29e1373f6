"""The parts of a recording: FILE is written; once it is full it becomes FILE.1, FILE.1 becomes FILE.2 and so on, and the oldest
goes. Read together they are one recording, and each of them is one by itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

STREAM = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""The first bytes of each session in a recording: gzip, without a name and a time."""
PLAIN = b'{"file":"hangtop"'
"""The first bytes of a recording of an older hangtop."""
PART_BYTES = 16 << 20
"""A file that is longer is full. A day of a run on eight GPUs takes about two."""
OLDER = 7
"""So many are kept beside the one that is written: 128 MiB in all."""


def older(path: Path) -> Iterator[Path]:
    """Where its older parts would be, the newest first."""
    return (path.with_name(f"{path.name}.{number}") for number in range(1, OLDER + 1))


def wholes(paths: Sequence[Path]) -> list[Path]:
    """These without the older parts of others among them, which are read with those: a shell's `*` names them too."""
    read_with = {part for path in paths for part in older(path)}
    return [path for path in paths if path not in read_with]


def make_room(path: Path) -> None:
    """Move each part on by one; the oldest is overwritten. Raises `OSError`."""
    names = [path, *older(path)]
    free = next((place for place, each in enumerate(names) if not each.exists()), OLDER)
    for place in range(free, 0, -1):
        os.replace(names[place - 1], names[place])


def read_parts(path: Path) -> bytes:
    """All of its parts, the oldest first. Raises `OSError` where the file itself cannot be read.

    They are opened from the newest on: one that is moved on meanwhile is met a second time, and not missed."""
    with contextlib.ExitStack() as opened:
        files = [opened.enter_context(path.open("rb"))]
        with contextlib.suppress(OSError):
            for each in older(path):
                files.append(opened.enter_context(each.open("rb")))
                if not is_recording(files[-1]):
                    files.pop()
                    break
        known = {(status.st_dev, status.st_ino): file for file in files if (status := os.fstat(file.fileno()))}
        return b"".join(file.read() for file in reversed(known.values()))


def is_recording(file: BinaryIO) -> bool:
    """Whether hangtop has recorded this file. Its place stays as it is."""
    begin = os.pread(file.fileno(), max(len(STREAM), len(PLAIN)), 0)
    return begin.startswith((STREAM, PLAIN))
