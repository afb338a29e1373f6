"""Shells of the run that wait for their children while their script goes on behind that.

For which of them a shell waits, the kernel tells: a shell without job control lets its jobs ignore SIGINT and SIGQUIT
(POSIX.1-2017, XCU 2.11), and what it runs in the foreground does not. Where only jobs are left, it is in `wait`. Before bash
starts a program it sets the position in its script behind that command (`sync_buffered_stream` in its execute_cmd.c), so that the
position tells what it has not read yet; other shells read on, and bash does in `wait`.

Where nobody writes the logs any more, a shell that has none of them open counts too, if its script wrote one before that place
and does so again behind it: it rests between two parts of the run.
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
from hangtop.system.processes.script_commands import all_behind, behind, behind_last_wait
from hangtop.system.processes.shell_text import filled, seconds_of, writes
from hangtop.system.processes.table import Identity, ProcessTable

OF_JOBS = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGQUIT))
NOT_UTF8 = "\ufffd"
SCRIPT_FD = 255
"""Where bash keeps its script (input.c)."""
SETTLED_S = 2.0
"""So long after a child was started it runs its program, and the shell waits for it."""
MOST = 16
MOST_OUTSIDE = 64
LONGEST_COMMAND = 80

Family = tuple[Identity, ...]
"""A shell and its living children."""


class ShellScripts:
    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Family, UnfinishedScript | None] = Guard()
        self._known: dict[Family, UnfinishedScript | None] = {}
        self._among_writers = True

    def find(
        self, writers: Collection[int], logs: Collection[str], owners: Collection[int], now: float
    ) -> tuple[UnfinishedScript, ...]:
        """`writers`: pids that write the logs; `logs`: their real paths; `owners`: of the logs. Asked anew where a child comes or
        ends."""
        if not writers and not logs:  # not known yet
            return ()
        stats = self._table.stats
        among = [stats[pid] for pid in writers if pid in stats] if writers else stats.values()
        shells = [stat for stat in among if stat.name in SHELLS and stat.state in "SD"]
        if not writers:
            shells = [stat for stat in shells if self._table.owner(stat.pid) in owners]
        shells = shells[: MOST if writers else MOST_OUTSIDE]
        below: dict[int, list[Identity]] = {shell.pid: [] for shell in shells}
        for stat in stats.values() if below else ():
            if stat.ppid in below and stat.state not in "ZX":
                below[stat.ppid].append(stat.identity)
        families = [(shell.identity, *sorted(below[shell.pid])) for shell in shells if below[shell.pid]]
        settled = [each for each in families if now - self._table.started_at(max(one.start_ticks for one in each)) > SETTLED_S]
        if bool(writers) != self._among_writers:
            self._known, self._among_writers = {}, bool(writers)
        self._known = {family: script for family, script in self._known.items() if family in settled}
        asks = self._script if writers else partial(self._outside, logs=tuple(logs))
        due = {family: partial(asks, family) for family in settled if family not in self._known}
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
        place = None if any(ignored[child] is None for child in children) else self._place(shell, text)
        return None if place is None else behind(text, place)

    def _place(self, shell: int, text: str) -> int | None:
        """How far bash has read its script."""
        about = fields_of(read_optional(f"/proc/{shell}/fdinfo/{SCRIPT_FD}") or b"")
        if self._table.stats[shell].name != "bash" or not about.get("pos", "").isdecimal() or NOT_UTF8 in text:
            return None
        return len(text.encode()[: int(about["pos"])].decode("utf-8", "replace"))

    def _outside(self, family: Family, logs: Collection[str]) -> UnfinishedScript | None:
        """Of a shell that has no log open. May wait for the file system. Raises `OSError`."""
        shell, *children = (identity.pid for identity in family)
        cwd = self._table.cwd(shell)
        text = program_of(self._table.command(shell), cwd)
        place = None if text is None else self._place(shell, text)
        if text is None or place is None or not writes(filled(text[:place], text), logs, cwd):
            return None
        left = next((line for line in all_behind(text, place) if writes(filled(line, text), logs, cwd)), None)
        if left is None:
            return None
        ends = [self._sleeps_until(identity) for identity in family[1:]]
        told = shorten(clean_words(left), LONGEST_COMMAND, placeholder=" …")
        return UnfinishedScript(shell, tuple(children), told, outside=True, until=max(filter(None, ends), default=None))

    def _sleeps_until(self, child: Identity) -> float | None:
        command = self._table.command(child.pid)
        sleep_s = seconds_of(command[1:]) if self._table.stats[child.pid].name == "sleep" else None
        return None if sleep_s is None else self._table.started_at(child.start_ticks) + sleep_s


def _is_job(ignored: int | None) -> bool | None:
    return None if ignored is None else ignored & OF_JOBS == OF_JOBS
