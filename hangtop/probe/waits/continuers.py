"""Shells that come to a command which lets a stopped process go on: a script that pauses a rank while it copies checkpoints.

Nothing tells who has stopped a process. How far bash has read its script the position of that file tells (see
`shell_scripts.py`); of `-c`, of a subshell and of other shells the command tells that runs below it now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from textwrap import shorten

from hangtop.common.clean_words import clean_words
from hangtop.probe.processes.shell_loops import SHELLS, program_of
from hangtop.probe.processes.shell_scripts import NOT_UTF8, SCRIPT_FD
from hangtop.records.watched_waits import Continuer
from hangtop.system.guard import Guard
from hangtop.system.processes.proc_files import fields_of, read_optional
from hangtop.system.processes.script_signals import behind_command, continues_behind
from hangtop.system.processes.table import ProcessTable, Stat

MOST = 16
LONGEST_COMMAND = 80


class Continuers:
    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[int, tuple[Continuer, ...]] = Guard()

    def find(self, pids: Iterable[int], around: Collection[int]) -> tuple[Continuer, ...]:
        """`pids`: of which some may be stopped. `around`: among which shells are looked for. The table must be fresh."""
        stats = self._table.stats
        stopped = [pid for pid in pids if pid in stats and stats[pid].state == "T"]
        shells = [pid for pid in around if pid in stats and stats[pid].name in SHELLS and stats[pid].state in "RSD"][:MOST]
        due = {pid: partial(self._continues, stats[pid], stopped) for pid in shells} if stopped else {}
        return tuple(each for found in self._guard.known(due).values() for each in found)

    def _continues(self, shell: Stat, stopped: list[int]) -> tuple[Continuer, ...]:
        """May wait for the file system. Raises `OSError`."""
        text = program_of(self._table.command(shell.pid), self._table.cwd(shell.pid))
        place = self._place(shell, text) if text is not None else None
        if text is None or place is None:
            return ()
        found = ((pid, continues_behind(text, place, pid)) for pid in stopped)
        return tuple(
            Continuer(shell.pid, pid, shorten(clean_words(command), LONGEST_COMMAND, placeholder=" …"))
            for pid, command in found
            if command is not None
        )

    def _place(self, shell: Stat, text: str) -> int | None:
        """How far it has come in its text."""
        parent = self._table.stats.get(shell.ppid)
        is_part = parent is not None and self._table.command(parent.pid) == self._table.command(shell.pid)
        about = fields_of(read_optional(f"/proc/{shell.pid}/fdinfo/{SCRIPT_FD}") or b"")
        if shell.name == "bash" and not is_part and about.get("pos", "").isdecimal() and NOT_UTF8 not in text:
            return len(text.encode()[: int(about["pos"])].decode("utf-8", "replace"))
        return max(self._below(shell, text), default=None)

    def _below(self, shell: Stat, text: str) -> Iterator[int]:
        for stat in self._table.stats.values():
            below = stat.ppid == shell.pid and stat.state not in "ZX"
            place = behind_command(text, self._table.command(stat.pid)) if below else None
            if place is not None:
                yield place
