"""What ties the run's processes to a Ray session: open files, and names in their command lines and environments.

The owner of a session follows from this, so nothing is guessed: an address must have its port, a session its whole name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from hangtop.common.addresses import host_port, is_loopback
from hangtop.logs.extract.ray_sessions_named import SESSION
from hangtop.probe.ray.local.session_files import DRIVER_LOG, SESSION_NAME, WORKER_LOG
from hangtop.records.process import Process, RayTie
from hangtop.system.processes.environments import RAY_ADDRESSES, ProcessFacts
from hangtop.system.processes.table import OpenFile

MOST = 64
"""Ties of one kind are told once for each session or address, so there are few."""
NAMING = ("argument", "environment")
FOLDER = re.compile(rf"(?P<folder>.*/{SESSION_NAME})(?:/.*)?")
_ADDRESS = re.compile(r"(?:[\w.+-]+=)?['\"]?(?P<address>(?:\w+://)?[\w.-]+:\d{2,5})/?['\"]?")

TieKey = tuple[str, str, str]


class RayTieTable:
    """The ties of one run, also of processes that are gone."""

    def __init__(self) -> None:
        self._known: dict[TieKey, RayTie] = {}

    def update(
        self,
        processes: Iterable[Process],
        files: Mapping[int, tuple[OpenFile, ...]],
        facts: Mapping[int, ProcessFacts],
        logs: Iterable[str],
        is_on_our_network: Callable[[int], bool],
    ) -> tuple[RayTie, ...]:
        """`processes`: proven to be the run's. `logs`: real paths of the watched logs. A loopback address counts only from a
        process on our own network."""
        alive = {(process.pid, process.start_ticks) for process in processes if process.state not in "ZX"}
        found: dict[TieKey, RayTie] = {}
        for process in processes:
            if process.state not in "ZX":
                for tie in ties_of(process, files.get(process.pid, ()), facts.get(process.pid)):
                    far = tie.kind in NAMING and is_loopback(tie.name) and not is_on_our_network(tie.pid)
                    if not far:
                        found.setdefault((tie.kind, tie.name, tie.job), tie)
        past = {
            key: tie if tie.gone or (tie.pid, tie.start_ticks) in alive else replace(tie, gone=True)
            for key, tie in self._known.items()
            if key not in found
        }
        self._known = dict(list({**past, **found}.items())[-MOST:])
        lies = (RayTie("log", match["folder"]) for log in logs if (match := FOLDER.fullmatch(log)))
        return (*dict.fromkeys(lies), *self._known.values())


def ties_of(process: Process, held: Iterable[OpenFile], facts: ProcessFacts | None) -> Iterator[RayTie]:
    tie = RayTie("holds", "", process.pid, process.started_at, process.start_ticks, process.name)
    for file in held:
        if "/session_" not in file.target or (match := FOLDER.fullmatch(file.target)) is None:
            continue
        if driver := DRIVER_LOG.fullmatch(file.target):
            yield replace(tie, kind="drives", name=driver["folder"], job=driver["job"])
        elif worker := WORKER_LOG.fullmatch(file.target):
            yield replace(tie, kind="works", name=worker["folder"], job=worker["job"])
        else:
            yield replace(tie, name=match["folder"])
    if facts is not None:
        for variable in RAY_ADDRESSES:
            if address := host_port(facts.environ.get(variable, "")):
                yield replace(tie, kind="environment", name=address)
        for name in _named(facts.command):
            yield replace(tie, kind="argument", name=name)


def _named(command: Iterable[str]) -> Iterator[str]:
    """Sessions and addresses among the words of a command line."""
    for word in command:
        yield from dict.fromkeys(SESSION.findall(word))
        if (found := _ADDRESS.fullmatch(word)) and (address := host_port(found["address"])):
            yield address
