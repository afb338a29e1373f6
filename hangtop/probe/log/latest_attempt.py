"""Which of the logs in a folder are of the present run: what earlier runs, attempts and jobs left behind is not watched.

Two runs may write side by side. The one that was chosen stays as long as a process writes it; then the next that comes is
watched. The time of the last line alone would change the run with each line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

_ATTEMPT = re.compile(r"^(.*?)/?([^/]+)/attempt_(\d+)/")
_SLURM = re.compile(r"^(.*?)/?slurm[-_](\d+)[^/]*$")

Place = tuple[str, str]
"""Where several may stand side by side, and which of them this is."""


class LatestAttempt:
    """Keeps of torchrun's runs in one folder the one written last, of its attempts the last, of Slurm's jobs the one written
    last.

    `alive`: somebody writes the logs that were chosen."""

    def __init__(self) -> None:
        self._chosen: dict[tuple[str, str], str] = {}
        self._seen: dict[tuple[str, str], frozenset[str]] = {}
        self.alive = False

    def choose(self, paths: Iterable[str]) -> list[str]:
        """Those of these paths that are of the present run."""
        kept = self._newest("run", list(paths), _torchrun_run, _written_at)
        kept = self._newest("attempt", kept, _torchrun_attempt, _attempt)
        return self._newest("job", kept, _slurm_job, _written_at)

    def _newest(
        self, kind: str, paths: list[str], place: Callable[[str], Place | None], age: Callable[[str], float]
    ) -> list[str]:
        """Those that `place` does not speak of, and in each place only the one that is chosen there."""
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
    found = _ATTEMPT.match(path)
    return (found[1], found[2]) if found else None


def _torchrun_attempt(path: str) -> Place | None:
    found = _ATTEMPT.match(path)
    return (f"{found[1]}/{found[2]}", found[3]) if found else None


def _slurm_job(path: str) -> Place | None:
    found = _SLURM.match(path)
    return (found[1], found[2]) if found else None


def _attempt(path: str) -> float:
    found = _ATTEMPT.match(path)
    return float(found[3]) if found else 0.0


def _written_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0  # gone in this moment: the next look finds the truth
