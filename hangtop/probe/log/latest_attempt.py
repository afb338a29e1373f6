"""Which logs of a folder belong to the present run, rather than to earlier runs, attempts or jobs.

Two runs may write side by side. The chosen one stays as long as a process writes it, then the next one that appears is chosen.
By the time of the last line alone, the choice would change with every line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

_ATTEMPT = re.compile(r"^(.*?)/?([^/]+)/attempt_(\d+)/")
_SLURM = re.compile(r"^(.*?)/?slurm[-_](\d+)[^/]*$")

Place = tuple[str, str]
"""(folder in which several runs, attempts or jobs may lie side by side, which of them this is)."""


class LatestAttempt:
    """Keeps the torchrun run that was written last, its last attempt, and the Slurm job that was written last.

    `alive`: a process writes the chosen logs."""

    def __init__(self) -> None:
        self._chosen: dict[tuple[str, str], str] = {}
        self._seen: dict[tuple[str, str], frozenset[str]] = {}
        self.alive = False

    def choose(self, paths: Iterable[str]) -> list[str]:
        """The paths that belong to the present run."""
        kept = self._newest("run", list(paths), _torchrun_run, _written_at)
        kept = self._newest("attempt", kept, _torchrun_attempt, _attempt)
        return self._newest("job", kept, _slurm_job, _written_at)

    def _newest(
        self, kind: str, paths: list[str], place: Callable[[str], Place | None], age: Callable[[str], float]
    ) -> list[str]:
        """The paths to which `place` does not apply, and in each folder only those of the chosen one."""
        ages: dict[str, dict[str, float]] = {}
        for path in paths:
            if (at := place(path)) is not None:
                there = ages.setdefault(at[0], {})
                there[at[1]] = max(there.get(at[1], float("-inf")), age(path))
        chosen = {folder: self._choose((kind, folder), there) for folder, there in ages.items()}
        return [path for path in paths if (at := place(path)) is None or chosen[at[0]] == at[1]]

    def _choose(self, key: tuple[str, str], ages: dict[str, float]) -> str:
        seen, before = self._seen.get(key, frozenset()), self._chosen.get(key)
        came = ages.keys() - seen
        stays = not came or (self.alive and key[0] != "attempt")
        if stays and before in ages:
            return before
        self._seen[key] = seen | ages.keys()
        self._chosen[key] = max(came or ages, key=lambda name: (ages[name], name))
        return self._chosen[key]


def _torchrun_run(path: str) -> Place | None:
    return (found[1], found[2]) if (found := _ATTEMPT.match(path)) else None


def _torchrun_attempt(path: str) -> Place | None:
    return (f"{found[1]}/{found[2]}", found[3]) if (found := _ATTEMPT.match(path)) else None


def _slurm_job(path: str) -> Place | None:
    return (found[1], found[2]) if (found := _SLURM.match(path)) else None


def _attempt(path: str) -> float:
    return float(found[3]) if (found := _ATTEMPT.match(path)) else 0.0


def _written_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0  # gone in this moment: the next look finds the truth
