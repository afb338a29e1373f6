"""Shells of the run that wait for their children while their script goes on behind that.

For which of them a shell waits, the kernel tells: a shell without job control lets its jobs ignore SIGINT and SIGQUIT
(POSIX.1-2017, XCU 2.11), and what it runs in the foreground does not. Where only jobs are left, it is in `wait`. Before bash
starts a program it sets the position in its script behind that command (`sync_buffered_stream` in its execute_cmd.c), so that the
position tells what it has not read yet; other shells read on, and bash does in `wait`.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping
from functools import partial
from textwrap import shorten

from hangtop.common.clean_words import clean_words
from hangtop.probe.processes.shell_loops import SHELLS, program_of
from hangtop.records.process import UnfinishedScript
from hangtop.system.guard import Guard
from hangtop.system.processes.proc_files import fields_of, read_optional
from hangtop.system.processes.script_commands import behind, behind_last_wait
from hangtop.system.processes.table import Identity, ProcessTable

OF_JOBS = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGQUIT))
NOT_UTF8 = "\ufffd"
SCRIPT_FD = 255
"""Where bash keeps its script (input.c)."""
SETTLED_S = 2.0
"""So long after a child was started it runs its program, and the shell waits for it."""
MOST = 16
LONGEST_COMMAND = 80

Family = tuple[Identity, ...]
"""A shell and its living children."""


class ShellScripts:
    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Family, UnfinishedScript | None] = Guard()
        self._known: dict[Family, UnfinishedScript | None] = {}

    def find(self, writers: Collection[int], now: float) -> tuple[UnfinishedScript, ...]:
        """`writers`: pids that write the logs. Asked anew where a child comes or ends."""
        stats = self._table.stats
        shells = [stats[pid] for pid in writers if pid in stats and stats[pid].name in SHELLS and stats[pid].state in "SD"][:MOST]
        below: dict[int, list[Identity]] = {shell.pid: [] for shell in shells}
        for stat in stats.values() if below else ():
            if stat.ppid in below and stat.state not in "ZX":
                below[stat.ppid].append(stat.identity)
        families = [(shell.identity, *sorted(below[shell.pid])) for shell in shells if below[shell.pid]]
        settled = [each for each in families if now - self._table.started_at(max(one.start_ticks for one in each)) > SETTLED_S]
        self._known = {family: script for family, script in self._known.items() if family in settled}
        due = {family: partial(self._script, family) for family in settled if family not in self._known}
        self._known |= self._guard.known(due)
        return tuple(script for family in settled if (script := self._known.get(family)) is not None)

    def _script(self, family: Family) -> UnfinishedScript | None:
        """May wait for the file system. Raises `OSError`."""
        shell, *children = (identity.pid for identity in family)
        ignored = {pid: self._table.details(pid).ignored for pid in (shell, *children)}
        text = program_of(self._table.command(shell), self._table.cwd(shell))
        if text is None or _is_job(ignored[shell]) is not False:  # then all that it starts are like jobs
            return None
        jobs = all(_is_job(ignored[child]) for child in children)
        left = behind_last_wait(text) if jobs else self._unread(shell, text, ignored, children)
        if left is None:
            return None
        told = shorten(clean_words(left), LONGEST_COMMAND, placeholder=" …")
        awaited = tuple(child for child in children if jobs or not _is_job(ignored[child]))
        return UnfinishedScript(shell, awaited, told, jobs)

    def _unread(self, shell: int, text: str, ignored: Mapping[int, int | None], children: list[int]) -> str | None:
        """The first program of the part that bash has not read while it waits for one in the foreground."""
        if self._table.stats[shell].name != "bash" or any(ignored[child] is None for child in children):
            return None
        about = fields_of(read_optional(f"/proc/{shell}/fdinfo/{SCRIPT_FD}") or b"")
        if not about.get("pos", "").isdecimal() or NOT_UTF8 in text:
            return None
        read = text.encode()[: int(about["pos"])].decode("utf-8", "replace")
        return behind(text, len(read))


def _is_job(ignored: int | None) -> bool | None:
    return None if ignored is None else ignored & OF_JOBS == OF_JOBS
