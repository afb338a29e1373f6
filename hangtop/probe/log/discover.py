"""The files to watch, from what a person typed after `--log`: paths, globs, directories of rank logs, `-`."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hangtop.common.late_pattern import late_pattern
from hangtop.common.text import some
from hangtop.probe.log.latest_attempt import LatestAttempt
from hangtop.probe.log.rank_from_name import ranks_of
from hangtop.system.files.read_errors import ReadError, in_words, shown

STDIN = "-"
DEEPEST = 6
MOST_FOLDERS = 2_000
MOST_FILES = 4_096
_ENDINGS = (".log", ".out", ".err", ".stdout", ".stderr")
_NAMED_LOG = late_pattern(r"(?i)(^|[._-])(log|logs|rank|std|stdout|stderr|output|console|nohup)([._-]|\d|$)")
_OTHER_ENDING = late_pattern(r"(?i)\.(?!txt$)[a-z]\w{0,7}$")
_ROTATED = late_pattern(r"(.+\.(?:log|out|err|txt))(?:\.\d{1,3}|[.-]\d{8}(?:[.T_-]?\d+)?|[.-]\d{4}-\d\d-\d\d(?:[.T_-][\d-]+)?)")
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


class FoundLog(Struct, frozen=True):
    """A file to watch. With a `fault` it stands for a directory or glob that holds no log yet."""

    path: str
    rank: int | None = None
    fault: ReadError | None = None


class Discovery(Struct, frozen=True):
    """The files, and the folders in which new ones may appear."""

    logs: tuple[FoundLog, ...]
    folders: tuple[str, ...] = ()


def discover(asked: Sequence[str], newest: LatestAttempt | None = None) -> Discovery:
    """Each file once, in the order asked, those of a directory or glob by name. Reads names and times only.

    `newest`: remembers which of several runs side by side was chosen."""
    newest = newest or LatestAttempt()
    paths: dict[str, ReadError | None] = {}
    folders: dict[str, None] = {}
    real: set[str] = set()
    for pattern in asked:
        found, seen = _expand(pattern, newest)
        folders.update(dict.fromkeys(seen))
        for path, fault in found:
            if (where := os.path.realpath(path)) not in real:
                real.add(where)
                paths[path] = fault
    ranks = ranks_of([path for path, fault in paths.items() if fault is None])
    numbered = iter(ranks)
    logs = tuple(FoundLog(path, None if fault else next(numbered), fault) for path, fault in paths.items())
    if len(logs) > MOST_FILES:
        words = f"{some(len(logs), 'log file')}: only the first {MOST_FILES:,} are watched; name fewer with --log"
        logs = (*logs[:MOST_FILES], FoundLog(shown(asked[-1]), None, ReadError("failed", words)))
    return Discovery(logs, tuple(folders))


def rotated_from(path: str) -> str | None:
    """The log of which this name is an older part (`train.log.1`, `train.log-20260111`), as logrotate and Python's handlers name
    them; `None` for other names. The caller checks that the log exists: some runs number their ranks like this."""
    found = _ROTATED.fullmatch(path)
    return found[1] if found else None


def _expand(pattern: str, newest: LatestAttempt) -> tuple[list[tuple[str, ReadError | None]], list[str]]:
    if pattern == STDIN:
        return [(STDIN, None)], []
    if os.path.isdir(pattern):
        return _in_directory(pattern, newest)
    if glob.has_magic(pattern) and not os.path.lexists(pattern):
        return _in_glob(pattern, newest)
    return [(pattern, None)], []


def _in_directory(top: str, newest: LatestAttempt) -> tuple[list[tuple[str, ReadError | None]], list[str]]:
    folders: list[str] = []
    files: list[str] = []
    errors: list[OSError] = []
    for folder, names in _walk(top, errors):
        folders.append(folder)
        files += [os.path.join(folder, name) for name in names if _is_log_name(name) and rotated_from(name) not in names]
    if files:
        return [(path, None) for path in sorted(newest.choose(files), key=_natural)], folders
    if errors and len(folders) <= 1:
        return [(top, in_words(top, errors[0]))], folders
    words = "no log files in this directory (*.log, *.out, *.err), waiting for one"
    return [(top, ReadError("directory", f"{shown(top)}: {words}: ls -R {shown(shlex.quote(top))}"))], folders


def _in_glob(pattern: str, newest: LatestAttempt) -> tuple[list[tuple[str, ReadError | None]], list[str]]:
    matches = [path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path)]
    fixed = glob.escape(pattern).split("[", 1)[0].rpartition("/")[0] or ("/" if pattern.startswith("/") else ".")
    folders = list(dict.fromkeys([fixed, *(os.path.dirname(path) or "." for path in matches)]))
    folders = [folder for folder in folders if os.path.isdir(folder)]
    if matches:
        return [(path, None) for path in sorted(newest.choose(matches), key=_natural)], folders
    words = f"{shown(pattern)}: no file matches, waiting for one: ls -l {shown(shlex.quote(fixed))}"
    return [(pattern, ReadError("waiting", words))], folders


def _walk(top: str, errors: list[OSError]) -> Iterator[tuple[str, list[str]]]:
    """Folders and their file names, limited in depth and number: a person may well say `--log .` in a home directory."""
    depth = top.rstrip("/").count("/") + DEEPEST
    for count, (folder, below, names) in enumerate(os.walk(top, onerror=errors.append)):
        if count >= MOST_FOLDERS:
            return
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in _SKIPPED)
        if folder.count("/") >= depth:
            below.clear()
        yield folder, names


def _is_log_name(name: str) -> bool:
    lower = name.lower()
    if name.startswith("."):
        return False
    return lower.endswith(_ENDINGS) or (_NAMED_LOG.search(lower) is not None and not _OTHER_ENDING.search(lower))


def _natural(path: str) -> list[tuple[int, str]]:
    """rank_2 before rank_10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path)]
