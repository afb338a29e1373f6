"""Processes of other jobs that work in a folder in which the run works too, or that it was told of: a daemon that fills files for
it. They may give the run what it looks for. They are watched as a sign of life alone; nothing makes them the run's."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator

from hangtop.system.processes.table import ProcessTable, cwd_of
from hangtop.system.processes.tree import ancestors, children_of, descendants

MOST = 16
MOST_ASKED = 8
"""Members whose command lines and environments are read: ranks have theirs in common."""
OF_EVERYBODY = frozenset({"", "/", "/tmp", "/var/tmp", "/usr", "/usr/local", "/opt", "/home", "/root", "/mnt", "/data"})
"""Folders in which processes meet that have nothing to do with each other; so is everybody's own home."""
OF_THE_PERSON = frozenset({"HOME", "PWD", "OLDPWD", "VIRTUAL_ENV", "CONDA_PREFIX", "TMPDIR", "SHELL"})
"""Variables that name places of the person, not of the job; so do those that end in `PATH`."""


def neighbours(table: ProcessTable, pids: Collection[int], known: Collection[int] = ()) -> tuple[int, ...]:
    """Processes of the same user whose working folder, or a path of whose command line, is the working folder of one of these, or
    a path that its command line or its environment names. `known`: left out, with all above and below any of them."""
    stats, children = table.stats, children_of(table.stats)
    asked = [pid for pid in pids if pid in stats][:MOST_ASKED]
    places = {place for pid in asked for place in _places_of(table, pid)}
    owners = {table.owner(pid) for pid in asked}
    own = {below for pid in (*pids, *known) for below in descendants(children, pid)} | {
        os.getpid(),
        *ancestors(stats, os.getpid()),
    }
    above = {each for pid in asked for each in ancestors(stats, pid)}
    others = (pid for pid, stat in stats.items() if pid not in own | above and not stat.kernel and table.owner(pid) in owners)
    return tuple(pid for pid in others if _meets(table, pid, places))[:MOST] if places else ()


def _places_of(table: ProcessTable, pid: int) -> Iterator[str]:
    """Folders and files that a member works in, or was told of."""
    home = ""
    try:
        environ = table.environ(pid)
        home = environ.get("HOME", "")
        named = [value for key, value in environ.items() if key not in OF_THE_PERSON and not key.endswith("PATH")]
        words = [cwd_of(table, pid) or "", *named, *_paths(table.command(pid))]
    except OSError:
        words = [cwd_of(table, pid) or ""]
    yield from (word for word in words if word.startswith("/") and word.rstrip("/") not in {*OF_EVERYBODY, home})


def _meets(table: ProcessTable, pid: int, places: Collection[str]) -> bool:
    try:
        return (cwd_of(table, pid) or "") in places or any(path in places for path in _paths(table.command(pid)))
    except OSError:
        return False


def _paths(command: tuple[str, ...]) -> Iterable[str]:
    """What a command line names behind the program and its script: `--inbox=/data/in`, `/data/in`."""
    return (word.rpartition("=")[2] for word in command[2:])
