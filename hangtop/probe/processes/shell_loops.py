"""Shells that sleep in a loop of their program and then go on: they try a run again, or wait for something before it.

A loop is tied to the run by the log: its shell has it open for writing, or its text says that it writes it.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Collection, Iterable
from functools import partial
from pathlib import Path

from msgspec import Struct

from hangtop.common.clean_words import clean_words
from hangtop.records.process import ShellLoop
from hangtop.system.guard import Guard
from hangtop.system.processes.shell_text import counts_out, loop_around_sleep, seconds_of
from hangtop.system.processes.table import Identity, ProcessTable, Stat

SHELLS = frozenset("bash sh dash ash zsh ksh".split())
MAX_BYTES = 256 << 10
"""A longer script is not read."""
MOST = 64
LONGEST_HEAD = 80


class Script(Struct, frozen=True):
    """The text of a shell's program, the folder in which it works, and the arguments of the `sleep` below it."""

    text: str
    cwd: str
    arguments: tuple[str, ...]


class ShellLoops:
    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Identity, Script | None] = Guard()
        self._known: dict[Identity, Script | None] = {}

    def find(self, writers: Collection[int], logs: Collection[str], owners: Collection[int]) -> tuple[ShellLoop, ...]:
        """The loops that sleep now. `writers`: pids that write the logs; `logs`: their real paths; `owners`: of the logs."""
        stats = self._table.stats
        asleep = [
            stat
            for stat in stats.values()
            if stat.name == "sleep"
            and stat.state not in "ZX"
            and stat.ppid in stats
            and stats[stat.ppid].name in SHELLS
            and self._table.owner(stat.pid) in owners
        ][:MOST]
        due = {stat.identity: partial(self._script, stat) for stat in asleep if stat.identity not in self._known}
        here = {stat.identity for stat in asleep}
        self._known = {identity: script for identity, script in self._known.items() if identity in here}
        self._known |= self._guard.known(due)
        found = (self._loop(stat, self._known.get(stat.identity), writers, logs) for stat in asleep)
        return tuple(loop for loop in found if loop is not None)

    def _loop(self, stat: Stat, script: Script | None, writers: Collection[int], logs: Collection[str]) -> ShellLoop | None:
        if script is None:
            return None
        sleep_s, loop = seconds_of(script.arguments), loop_around_sleep(script.text, script.arguments)
        if loop is None or sleep_s is None or not (stat.ppid in writers or loop.writes(logs, script.cwd)):
            return None
        until = self._table.started_at(stat.start_ticks) + sleep_s
        return ShellLoop(stat.ppid, stat.pid, sleep_s, until, clean_words(loop.head)[:LONGEST_HEAD])

    def _script(self, stat: Stat) -> Script | None:
        """May wait for the file system. Raises `OSError`."""
        cwd = self._table.cwd(stat.ppid)
        text = program_of(self._table.command(stat.ppid), cwd)
        return None if text is None else Script(text, cwd, self._table.command(stat.pid)[1:])


class CountedShells:
    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Identity, bool] = Guard()

    def find(self, pids: Iterable[int]) -> frozenset[int]:
        """The shells among these of whose program each loop ends by itself."""
        shells = [stat for pid in pids if (stat := self._table.stats.get(pid)) is not None and stat.name in SHELLS]
        told = self._guard.known({stat.identity: partial(self._counts_out, stat.pid) for stat in shells})
        return frozenset(stat.pid for stat in shells if told.get(stat.identity))

    def _counts_out(self, pid: int) -> bool:
        """May wait for the file system. Raises `OSError`."""
        text = program_of(self._table.command(pid), self._table.cwd(pid))
        return text is not None and counts_out(text)


def program_of(command: tuple[str, ...], cwd: str) -> str | None:
    """The text that a shell was started with: of `-c`, or of its script. Raises `OSError`."""
    words = list(command[1:])
    while words and words[0].startswith(("-", "+")):
        option = words.pop(0)
        if option.startswith("-") and not option.startswith("--") and "c" in option:
            return words[0] if words else None
        if option in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") and words:
            words.pop(0)
    if not words:
        return None
    path = os.path.join(cwd, words[0])
    about = os.stat(path)
    if not modes.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES:
        return None
    return Path(path).read_text(encoding="utf-8", errors="replace")
