"""Which logs of a folder belong to the present run, rather than to earlier runs, attempts or jobs.

Two runs may write side by side. The chosen one stays as long as a process writes it, then the next one that appears is chosen.
By the time of the last line alone, the choice would change with every line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

_ATTEMPT = re.compile(r"^(.*?)/?([^/]+)/attempt_(\d+)/")
_SLURM = re.compile(r"^(.*?)/?slurm[-_](\d+)[^/]*$")
_KINDS = (("run", _ATTEMPT, r"\1", r"\2"), ("attempt", _ATTEMPT, r"\1/\2", r"\3"), ("job", _SLURM, r"\1", r"\2"))
"""What may lie side by side: its kind, the path that tells it, the folder in which several may lie, which of them this is."""


class LatestAttempt:
    """Keeps the torchrun run that was written last, its last attempt, and the Slurm job that was written last.

    `alive`: a process writes the chosen logs."""

    def __init__(self) -> None:
        self._chosen: dict[tuple[str, str], str] = {}
        self._seen: dict[tuple[str, str], frozenset[str]] = {}
        self.alive = False

    def choose(self, paths: Iterable[str]) -> list[str]:
        """The paths that belong to the present run."""
        kept = list(paths)
        for kind, pattern, folder, name in _KINDS:
            found = {path: (match.expand(folder), match.expand(name)) for path in kept if (match := pattern.match(path))}
            chosen = self._newest(kind, found)
            kept = [path for path in kept if path not in found or chosen[found[path][0]] == found[path][1]]
        return kept

    def _newest(self, kind: str, found: dict[str, tuple[str, str]]) -> dict[str, str]:
        """The chosen one in each folder. `found`: folder and name by path."""
        ages: dict[str, dict[str, float]] = {}
        for path, (folder, name) in found.items():
            there = ages.setdefault(folder, {})
            there[name] = max(there.get(name, float("-inf")), float(name) if kind == "attempt" else _written_at(path))
        return {folder: self._choose((kind, folder), there) for folder, there in ages.items()}

    def _choose(self, key: tuple[str, str], ages: dict[str, float]) -> str:
        seen, before = self._seen.get(key, frozenset()), self._chosen.get(key)
        came = ages.keys() - seen
        stays = not came or (self.alive and key[0] != "attempt")
        if stays and before in ages:
            return before
        self._seen[key] = seen | ages.keys()
        self._chosen[key] = max(came or ages, key=lambda name: (ages[name], name))
        return self._chosen[key]


def _written_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0  # gone in this moment: the next look finds the truth
