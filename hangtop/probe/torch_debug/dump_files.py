"""The stacks that the periodic dumper of the debug server writes, of all ranks in one file: where nobody answers, the newest one
tells where they stood then. Its folder is told by a line of the log."""

from __future__ import annotations

import os
import re
import stat as modes
from collections.abc import Iterable, Iterator

from hangtop.common.clean_text import clean_text
from hangtop.records.stack import Stack
from hangtop.stacks.printed_stacks import dumped_threads

NAME = re.compile(r"stacks_\d{8}_\d{6}\.txt")
"""torch/distributed/debug/_frontend.py, `PeriodicDumper`; its times sort as its names do."""
RANK = re.compile(r"=== Rank (?P<rank>\d{1,6}): (?:https?://)?(?P<host>\[[^\]]{1,80}\]|[^:/\s]{1,255})\S{0,200} ===")
MOST_BYTES, MOST_NAMES = 16 << 20, 100_000


def newest_dump(folders: Iterable[str]) -> str | None:
    """The newest file of stacks in the first of these folders that has any."""
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                names = [entry.name for entry, _ in zip(entries, range(MOST_NAMES), strict=False) if NAME.fullmatch(entry.name)]
        except OSError:
            continue
        if names:
            return os.path.join(folder, max(names))
    return None


def dumped_stacks(path: str) -> tuple[Stack, ...]:
    """The stack of each rank in it, as of the time when it was written. Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        about = os.fstat(fd)
        if not modes.S_ISREG(about.st_mode):
            return ()
        text = file.read(MOST_BYTES).decode("utf-8", "replace")
    return tuple(_stacks(text, about.st_mtime))


def _stacks(text: str, at: float) -> Iterator[Stack]:
    rank, host, lines = -1, "", list[str]()
    for line in (*map(clean_text, text.splitlines()), "=== Rank 0: end ==="):
        if (found := RANK.fullmatch(line)) is None:
            lines.append(line)
            continue
        if threads := dumped_threads(lines) if rank >= 0 else ():
            yield Stack(0, at, threads, rank=rank, host=host)
        rank, host, lines = int(found["rank"]), found["host"].strip("[]"), []
