"""Processes of other jobs that work in a folder in which the run works too, or that it was told of: a daemon that fills files for
it. They may give the run what it looks for. They are watched as a sign of life alone; nothing makes them the run's."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from hangtop.system.processes.table import ProcessTable, cwd_of
from hangtop.system.processes.tree import ancestors, children_of, descendants

MOST = 16
MOST_ASKED = 8
"""Members whose command lines and environments are read: ranks have theirs in common."""
OF_EVERYBODY = frozenset({"", "/", "/tmp", "/var/tmp", "/usr", "/usr/local", "/opt", "/home", "/root", "/mnt", "/data"})
"""Folders in which processes meet that have nothing to do with each other."""
OF_THE_PERSON = frozenset({"HOME", "PWD", "OLDPWD", "VIRTUAL_ENV", "CONDA_PREFIX", "TMPDIR", "SHELL"})
"""Variables that name places of the person, not of the job; so do those that end in `PATH`."""


def neighbours(table: ProcessTable, pids: Collection[int], known: Collection[int] = ()) -> tuple[int, ...]:
    """Processes of the same user whose working folder, or a path of whose command line, is the working folder of one of these, or
    a path that its command line or its environment names. A variable that both have was set for the person, and names no folder
    of the run. `known`: left out, with all above and below any of them."""
    stats, children = table.stats, children_of(table.stats)
    asked = [pid for pid in pids if pid in stats][:MOST_ASKED]
    places = {place: key for pid in asked for place, key in _places_of(table, pid)}
    owners = {table.owner(pid) for pid in asked}
    own = {below for pid in (*pids, *known) for below in descendants(children, pid)} | {
        os.getpid(),
        *ancestors(stats, os.getpid()),
    }
    above = {each for pid in asked for each in ancestors(stats, pid)}
    others = (pid for pid, stat in stats.items() if pid not in own | above and not stat.kernel and table.owner(pid) in owners)
    return tuple(pid for pid in others if _meets(table, pid, places))[:MOST] if places else ()


def _places_of(table: ProcessTable, pid: int) -> Iterator[tuple[str, str]]:
    """Folders and files that a member was told of, each with the variable that names it, and those that it works in."""
    named: dict[str, str] = {}
    words = []
    with suppress(OSError):
        named = {key: value for key, value in table.environ(pid).items() if key not in OF_THE_PERSON and key[-4:] != "PATH"}
        words = list(_paths(table.command(pid)))
    told = [*((value, key) for key, value in named.items()), *((word, "") for word in (*words, cwd_of(table, pid) or ""))]
    yield from ((place, key) for place, key in told if place.startswith("/") and place.rstrip("/") not in OF_EVERYBODY)


def _meets(table: ProcessTable, pid: int, places: Mapping[str, str]) -> bool:
    try:
        shared = [place for place in (cwd_of(table, pid) or "", *_paths(table.command(pid))) if place in places]
        mine = table.environ(pid) if any(map(places.get, shared)) else {}
    except OSError:
        return False
    return any(not places[place] or mine.get(places[place]) != place for place in shared)


def _paths(command: tuple[str, ...]) -> Iterable[str]:
    """What a command line names behind the program and its script: `--inbox=/data/in`, `/data/in`."""
    return (word.rpartition("=")[2] for word in command[2:])
