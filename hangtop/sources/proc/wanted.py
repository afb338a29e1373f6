"""Which of the files that processes hold open are the watched logs: paths, globs and directories as typed, or a pipe."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable

GLOB_SIGNS = re.compile(r"[*?\[]")


class Wanted:
    """The watched logs as the process table names them: real paths. New files in a directory need no listing of it."""

    def __init__(self, logs: Iterable[str], stdin_fd: int | None = None) -> None:
        self._logs = tuple(logs)
        self._stdin_fd = stdin_fd
        self._exact: frozenset[str] = frozenset()
        self._patterns: tuple[re.Pattern[str], ...] = ()

    def resolve(self) -> None:
        """Follow symbolic links anew. Touches the file system, so it may wait for it."""
        exact: set[str] = set()
        patterns: list[re.Pattern[str]] = []
        for log in self._logs:
            if log == "-":
                exact.update(_pipe(self._stdin_fd))
            elif GLOB_SIGNS.search(log):
                patterns.append(re.compile(fnmatch.translate(_real_glob(log))))
            else:
                real = os.path.realpath(log)
                exact.add(real)
                patterns.append(re.compile(re.escape(real) + "/.*"))
        self._exact, self._patterns = frozenset(exact), tuple(patterns)

    def matches(self, target: str) -> bool:
        return target in self._exact or any(pattern.fullmatch(target) for pattern in self._patterns)

    def owners(self) -> frozenset[int]:
        """The users that own the watched files. Touches the file system, so it may wait for it."""
        return frozenset(uid for path in self._exact if (uid := _owner(path)) is not None)


def _real_glob(pattern: str) -> str:
    """Links are followed in the part of the path that holds no sign of a glob."""
    sign = GLOB_SIGNS.search(pattern)
    fixed = os.path.dirname(pattern[: sign.start()]) if sign else pattern
    rest = pattern[len(fixed) :].lstrip("/")
    return os.path.join(os.path.realpath(fixed or "."), rest)


def _pipe(fd: int | None) -> tuple[str, ...]:
    try:
        return () if fd is None else (os.readlink(f"/proc/self/fd/{fd}"),)
    except OSError:  # not Linux, or closed meanwhile: then nobody can be found behind it
        return ()


def _owner(path: str) -> int | None:
    try:
        return os.stat(path).st_uid
    except OSError:  # not there yet, or a pipe
        return None
