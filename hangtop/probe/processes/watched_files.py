"""Which of the files that processes hold open are the watched logs: paths, globs and directories as typed, or a pipe."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress

GLOB_SIGNS = re.compile(r"[*?\[]")


class WatchedFiles:
    """The watched logs as the process table names them: by real paths. New files in a directory need no listing of it.

    `pipe`: what stdin is called there (`pipe:[4711]`)."""

    def __init__(self, logs: Iterable[str], pipe: str = "") -> None:
        self._logs = tuple(logs)
        self._pipe = pipe
        self._exact: frozenset[str] = frozenset()
        self._below: tuple[str, ...] = ()
        self._patterns: tuple[re.Pattern[str], ...] = ()
        self._only: frozenset[str] | None = None
        self._inodes: frozenset[tuple[str, int]] = frozenset()
        self._names: frozenset[str] = frozenset()
        self.owners: frozenset[int] = frozenset()
        """The users that own the watched files."""
        self.written_at: dict[str, float] = {}
        """When the watched files were written last, by real path."""

    def resolve(self, watched: Collection[str] | None = None) -> None:
        """Resolve symbolic links and stat the files. May wait for the file system.

        `watched`: the files that the log source reads, once known. In a directory or pattern no others count: files of another
        run may lie beside them."""
        exact: set[str] = set()
        below: list[str] = []
        patterns: list[re.Pattern[str]] = []
        for log in self._logs:
            if log == "-":
                exact.update({self._pipe} - {""})
            elif sign := GLOB_SIGNS.search(log):  # links are resolved in front of its first sign
                fixed = os.path.dirname(log[: sign.start()])
                glob = os.path.join(os.path.realpath(fixed or "."), log[len(fixed) :].lstrip("/"))
                patterns.append(re.compile(fnmatch.translate(glob)))
            else:
                real = os.path.realpath(log)
                exact.add(real)
                below.append(os.path.join(real, ""))
        self._exact, self._below, self._patterns = frozenset(exact), tuple(below), tuple(patterns)
        several = bool(patterns) or any(os.path.isdir(path) for path in exact)
        self._only = frozenset(map(os.path.realpath, watched)) if several and watched is not None else None
        files: dict[str, os.stat_result] = {}
        for path in exact:
            with suppress(OSError):  # not there yet, or a pipe
                files[path] = os.stat(path)
        self._inodes = frozenset((os.path.basename(path), status.st_ino) for path, status in files.items())
        self._names = frozenset(name for name, _ in self._inodes)
        self.owners = frozenset(status.st_uid for status in files.values())
        self.written_at = {path: status.st_mtime for path, status in files.items() if stat.S_ISREG(status.st_mode)}

    def matches(self, target: str) -> bool:
        if target in self._exact:
            return True
        if self._only is not None:
            return target in self._only
        return target.startswith(self._below) or any(pattern.fullmatch(target) for pattern in self._patterns)

    def may_be_called(self, target: str) -> bool:
        """Whether a process in a container may have this name for a watched file: the same last part, other directories."""
        return target.rpartition("/")[2] in self._names and target not in self._exact

    def is_inode(self, target: str, inode: int | None) -> bool:
        """Whether name and inode are those of a watched file: an inode alone is unique on one file system only."""
        return (os.path.basename(target), inode) in self._inodes
