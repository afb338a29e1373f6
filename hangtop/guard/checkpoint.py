"""The newest whole checkpoint below a directory: what a run is to go on from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

WEIGHTS = frozenset({".bin", ".ckpt", ".distcp", ".pt", ".pth", ".safetensors", ".tar"})
"""A checkpoint may be one such file; else it is a folder with a number in its name (`checkpoint-500`, `global_step_40`)."""
UNFINISHED = ("tmp", "temp", "incomplete", "partial", "part")
SLACK_S = 2.0
"""Between the clock of a file system and ours."""
MOST_FILES = 20_000


def newest_whole(directory: str, told_at: float | None) -> str | None:
    """Its path; `None` where there is none, or it cannot be told. Blocks; raises `OSError`.

    `told_at`: when the run last told anything new (unix time): of a checkpoint that was written after that nothing says that its
    save has ended."""
    if told_at is None:
        return None
    try:
        there = [*_candidates(Path(directory))]
    except FileNotFoundError:  # before the first save
        return None
    found = [(written_at, path) for path in there if (written_at := _written_at(path)) is not None]
    whole = [each for each in found if each[0] <= told_at + SLACK_S]
    return str(max(whole)[1]) if whole else None


def _candidates(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        name = path.name.lower()
        if name.startswith(".") or any(part in UNFINISHED for part in name.replace("-", "_").replace(".", "_").split("_")):
            continue
        if (path.is_dir() and any(map(str.isdigit, name))) or (path.suffix in WEIGHTS and path.is_file()):
            yield path


def _written_at(path: Path) -> float | None:
    """When the last byte of it was written; `None` for an empty one, or one of too many files to tell."""
    times, full = [], False
    for folder, _, files in os.walk(path):
        for name in files:
            status = os.stat(os.path.join(folder, name))
            times.append(status.st_mtime)
            full = full or status.st_size > 0
            if len(times) > MOST_FILES:
                return None
    if path.is_file():
        status = path.stat()
        times, full = [status.st_mtime], status.st_size > 0
    return max(times) if times and full else None
