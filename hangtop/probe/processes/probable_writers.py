"""Which processes may write a log that no process holds open: some programs open their log anew for each line.

A process is a candidate if its command line names the log or its folder, or if it works in that folder. Evidence against it: it
has the log open for reading, serves a terminal, writes its output to another file (where only the folder leads to it), or has
written no bytes. The rest are leads, see `leads`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hangtop.probe.processes.leads import KINDS, Lead
from hangtop.system.files.file_writers import terminals_of, topmost
from hangtop.system.guard import Guard
from hangtop.system.processes.roles import PYTHON, RELAYS, SHELLS, role_by_name
from hangtop.system.processes.table import Details, Identity, OpenFile, ProcessTable, Stat
from hangtop.system.processes.training_commands import looks_like_training
from hangtop.system.processes.tree import ancestors, children_of, descendants

NO_WRITERS = (
    RELAYS | SHELLS | frozenset("tail less more vi vim nvim nano emacs watch hangtop tmux screen ssh sshd code node".split())
)
"""Programs that read a log, or work in its folder, without writing it."""
RAYS_OWN = ("ray daemon", "ray worker")
"""Roles that never write a driver's log, though they work in the folder where `ray start` was called."""
READERS = re.compile(r"(?i)(?:^|[ /])(?:hangtop|tensorboard|jupyter[\w-]*|ipykernel\w*|http\.server|pytest|wandb)(?:[ .]|$)")
"""Python programs that read logs or runs."""
DEEPEST = 3
"""How far below its working folder a training program may have its log: `outputs/run7/train.log`."""
CLOCK_S = 2.0
"""Start times are known to 0.01 s, but boot time is not."""
SILENT_TIMES = 2
"""A line may come between reading the log's time and the counters: once proves nothing, twice does."""


class Clue(Struct, frozen=True):
    """How a process was started. `passes_on`: it reads the log, or serves a terminal. `own_log`: another file that takes its
    standard output."""

    command: tuple[str, ...] = ()
    cwd: str = ""
    passes_on: bool = False
    own_log: str = ""

    def names(self, paths: Collection[str]) -> bool:
        """Whether the command line names one of these paths, also as the value of an option."""
        words = (part for word in self.command[1:] for part in (word, word.partition("=")[2]) if part)
        return any(os.path.normpath(os.path.join(self.cwd or "/", word)) in paths for word in words)


class ProbableWriters:
    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Identity, Clue] = Guard()
        self._files: Guard[int, tuple[OpenFile, ...]] = Guard()
        self._clues: dict[Identity, Clue] = {}
        self._sizes: Guard[str, int] = Guard()
        self._written = WrittenBytes(table)

    def find(self, logs: Mapping[str, float], owners: Collection[int]) -> dict[int, Lead]:
        """The lead to each topmost process, by pid. `logs`: real paths, and when they were written last."""
        stats = self._table.stats
        around = {os.getpid(), *ancestors(stats, os.getpid())}
        last = _last_written(logs)
        asked = [
            stat
            for stat in stats.values()
            if not stat.kernel
            and stat.state not in "ZX"
            and stat.pid not in around
            and stat.name.partition(":")[0] not in NO_WRITERS
            if self._table.started_at(stat.start_ticks) <= last and self._table.owner(stat.pid) in owners
        ]
        self._ask(asked)
        known = {stat: self._clues[stat.identity] for stat in asked if stat.identity in self._clues}
        clues = {stat.pid: clue for stat, clue in known.items() if role_by_name(stat.name, clue.command) not in RAYS_OWN}
        folders = _folders_of(logs)
        near = {pid: clue for pid, clue in clues.items() if lead_of(clue, logs, folders) is not None}
        held = self._files.known({pid: partial(self._table.open_files, pid) for pid in near})
        seen = {pid: with_files(near[pid], files, logs) for pid, files in held.items()}
        seen = {pid: clue for pid, clue in self._without_empty_logs(seen).items() if not clue.passes_on}
        trees = {stats[pid].identity: descendants(children_of(stats), pid) for pid in seen}
        silent = {identity.pid for identity in self._written.rules_out(trees, max(logs.values(), default=0.0))}
        return choose({pid: clue for pid, clue in seen.items() if pid not in silent}, frozenset(logs), partial(topmost, stats))

    def _without_empty_logs(self, clues: Mapping[int, Clue]) -> dict[int, Clue]:
        """An empty file is no evidence that the output goes there."""
        logs = {clue.own_log for clue in clues.values()} - {""}
        sizes = self._sizes.known({path: partial(os.path.getsize, path) for path in logs})
        return {pid: replace(clue, own_log="") if sizes.get(clue.own_log) == 0 else clue for pid, clue in clues.items()}

    def pointing(self, pids: Iterable[int], logs: Mapping[str, float]) -> dict[int, Lead]:
        """The leads from the logs to these processes, as far as they lived when the logs were written."""
        stats = [self._table.stats[pid] for pid in pids if pid in self._table.stats]
        last, folders = _last_written(logs), _folders_of(logs)
        there = [stat for stat in stats if self._table.started_at(stat.start_ticks) <= last]
        self._ask(there)
        clues = {stat.pid: clue for stat in there if (clue := self._clues.get(stat.identity)) is not None}
        return {pid: lead for pid, clue in clues.items() if (lead := lead_of(clue, logs, folders)) is not None}

    def _ask(self, stats: Iterable[Stat]) -> None:
        due = {stat.identity: partial(self._clue, stat.pid) for stat in stats if stat.identity not in self._clues}
        self._clues |= self._guard.known(due)

    def _clue(self, pid: int) -> Clue:
        return Clue(self._table.command(pid), self._table.cwd(pid))


def with_files(clue: Clue, files: Collection[OpenFile], logs: Collection[str]) -> Clue:
    """The clue with what the open files of the process tell."""
    reads = any(file.target in logs and not file.writable for file in files)
    takes = (file.target for file in files if file.fd == 1 and file.writable and file.target.startswith("/"))
    own_log = (target for target in takes if target not in logs and not target.startswith("/dev/"))
    return replace(clue, passes_on=reads or terminals_of(files) > 0, own_log=next(own_log, ""))


def choose(clues: Mapping[int, Clue], logs: Collection[str], top: Callable[[Collection[int]], list[int]]) -> dict[int, Lead]:
    """The leads, the surest first. A process with another file for its output is left out, unless it names the log."""
    folders = _folders_of(logs)
    leads = {pid: lead for pid, clue in clues.items() if (lead := lead_of(clue, logs, folders)) and not reads_only(clue.command)}
    leads = {pid: lead for pid, lead in leads.items() if lead.kind == "log" or not clues[pid].own_log}
    by_kind = ([pid for pid, lead in leads.items() if lead.kind == kind] for kind in KINDS)
    return {pid: leads[pid] for pids in by_kind for pid in top(pids)}


def lead_of(clue: Clue, logs: Collection[str], folders: Collection[str]) -> Lead | None:
    """The lead from the logs to a process, if there is one."""
    if clue.names(logs):
        return Lead("log", "names it on its command line")
    if clue.names(folders):
        return Lead("folder", "names its folder on its command line")
    if not _works_in(clue, folders):
        return None
    return Lead("here", "works in its folder" if clue.cwd in folders else "works above its folder")


def reads_only(command: Sequence[str]) -> bool:
    """Whether it is a Python program that only watches runs."""
    return READERS.search(" ".join(command[:4])) is not None


def _last_written(logs: Mapping[str, float]) -> float:
    return max(logs.values(), default=0.0) + CLOCK_S


def _folders_of(logs: Collection[str]) -> set[str]:
    return {os.path.dirname(log) for log in logs} - {"/"}


def _works_in(clue: Clue, folders: Collection[str]) -> bool:
    """A Python program in the log's folder, or one that looks like training there or a little above."""
    if not clue.command or not clue.cwd.startswith("/") or clue.cwd == "/":
        return False
    if clue.cwd in folders and PYTHON.search(clue.command[0]):
        return True
    below = [os.path.relpath(folder, clue.cwd) for folder in folders]
    near = any(not path.startswith("..") and path.count("/") < DEEPEST for path in below)
    return near and looks_like_training([" ".join(clue.command)])


class ByteMark(Struct, frozen=True):
    """Bytes written when the log was written at `log_at` (unix time), and how often the log was written since then."""

    written_bytes: int
    log_at: float
    times: int = 0


class WrittenBytes:
    """Which processes have not written a log, by the bytes of their write calls (proc_pid_io(5), `wchar`).

    The counter only rules out: a process that wrote no byte in all its life, or none while the log grew again and again, has not
    written the log. It proves nothing: an uploader also writes whenever the log grows.
    """

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Identity, Details] = Guard()
        self._marks: dict[Identity, ByteMark] = {}
        self._counts: bool | None = None

    def rules_out(self, trees: Mapping[Identity, Collection[int]], log_at: float) -> frozenset[Identity]:
        """The processes that have not written the log. `trees`: each with its own pid and those of its descendants. `log_at`:
        when the log was written last."""
        if self._counts is None:
            self._counts = _is_counted(self._table)
        stats = self._table.stats
        due = {stats[pid].identity: partial(self._table.details, pid) for tree in trees.values() for pid in tree if pid in stats}
        answers = self._guard.known(due) if self._counts else {}
        told = {each.pid: answer.written_bytes for each, answer in answers.items()}
        marks: dict[Identity, ByteMark] = {}
        for identity, tree in trees.items():
            counts = [count for pid in tree if (count := told.get(pid)) is not None]
            if len(counts) == len(tree):  # else a process of it does not tell
                before, count = self._marks.get(identity), sum(counts)
                if before is None or count != before.written_bytes:
                    marks[identity] = ByteMark(count, log_at)
                else:
                    marks[identity] = before if log_at <= before.log_at else ByteMark(count, log_at, before.times + 1)
        self._marks = marks
        return frozenset(identity for identity, mark in marks.items() if not mark.written_bytes or mark.times >= SILENT_TIMES)


def _is_counted(table: ProcessTable) -> bool:
    """Whether this kernel counts at all, tried with a byte of our own."""
    with open(os.devnull, "wb", buffering=0) as nowhere:
        nowhere.write(b".")
    try:
        return bool(table.details(os.getpid()).written_bytes)
    except OSError:
        return False
