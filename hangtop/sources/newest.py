"""Which of the logs in a folder are of the present run: what earlier runs, attempts and jobs left behind is not watched."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

_ATTEMPT = re.compile(r"^(.*?)/?([^/]+)/attempt_(\d+)/")
_SLURM = re.compile(r"^(.*?)/?slurm[-_](\d+)[^/]*$")


def newest_only(paths: Iterable[str]) -> list[str]:
    """Of torchrun's runs in one folder the one written last, of its attempts the last; of Slurm's jobs the one written last."""
    kept = _newest(list(paths), _torchrun_run, _written_at)
    kept = _newest(kept, _torchrun_attempt, lambda path: float(found[3]) if (found := _ATTEMPT.match(path)) else 0.0)
    return _newest(kept, _slurm_job, _written_at)


Place = tuple[str, str]
"""Where several may stand side by side, and which of them this is."""


def _torchrun_run(path: str) -> Place | None:
    found = _ATTEMPT.match(path)
    return (found[1], found[2]) if found else None


def _torchrun_attempt(path: str) -> Place | None:
    found = _ATTEMPT.match(path)
    return (f"{found[1]}/{found[2]}", found[3]) if found else None


def _slurm_job(path: str) -> Place | None:
    found = _SLURM.match(path)
    return (found[1], found[2]) if found else None


def _newest(paths: list[str], place: Callable[[str], Place | None], age: Callable[[str], float]) -> list[str]:
    """Those that `place` does not speak of, and in each place only the one with the greatest `age`."""
    best: dict[str, tuple[float, str]] = {}
    for path in paths:
        if (at := place(path)) is not None:
            best[at[0]] = max(best.get(at[0], (float("-inf"), "")), (age(path), at[1]))
    return [path for path in paths if (at := place(path)) is None or best[at[0]][1] == at[1]]


def _written_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0  # gone in this moment: the next look finds the truth
