"""Whose log is it, when nobody holds it open? Some programs open their log for each line and close it again.

What a process was started with leads to it: its command line names the log, or the folder of the log; else it works in that
folder. What it holds open tells against it: the log to read it, a terminal that it serves, and, where only the folder leads to
it, another file that takes its output. So do its counters, when it has written nothing. What is left are leads: see `leads`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hangtop.probe.processes.leads import KINDS, Lead
from hangtop.probe.processes.written_bytes import WrittenBytes
from hangtop.system.files.file_writers import RELAYS, ancestors, terminals_of, topmost
from hangtop.system.guard import Guard
from hangtop.system.processes.roles import PYTHON, SHELLS, role_by_name
from hangtop.system.processes.table import OpenFile, ProcessTable, Stat
from hangtop.system.processes.training_commands import looks_like_training
from hangtop.system.processes.tree import children_of, descendants

NO_WRITERS = (
    RELAYS | SHELLS | frozenset("tail less more vi vim nvim nano emacs watch hangtop tmux screen ssh sshd code node".split())
)
"""Programs that read a log, or stand in its folder, without writing it."""
RAYS_OWN = ("ray daemon", "ray worker")
"""They serve the drivers of a session, whose logs are not theirs, and work where `ray start` was called."""
READERS = re.compile(r"(?i)(?:^|[ /])(?:hangtop|tensorboard|jupyter[\w-]*|ipykernel\w*|http\.server|pytest|wandb)(?:[ .]|$)")
"""Programs of Python that do so."""
DEEPEST = 3
"""What looks like training may have its log so far below its working folder: `outputs/run7/train.log`."""
CLOCK_S = 2.0
"""Start times are known to 0.01 s, but boot time is not."""


class Clue(Struct, frozen=True):
    """What a process was started with. `passes_on`: it reads the log, or serves a terminal. `own_log`: the other file that its
    standard output goes to."""

    command: tuple[str, ...] = ()
    cwd: str = ""
    passes_on: bool = False
    own_log: str = ""

    def names(self, paths: Collection[str]) -> bool:
        """Whether a word of the command line is one of these paths, as an option's value too."""
        words = (part for word in self.command[1:] for part in (word, word.partition("=")[2]) if part)
        return any(os.path.normpath(os.path.join(self.cwd or "/", word)) in paths for word in words)


class ProbableWriters:
    """Looks for those that may write the logs."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Hashable, Clue] = Guard()
        self._files: Guard[int, tuple[OpenFile, ...]] = Guard()
        self._clues: dict[Hashable, Clue] = {}
        self._sizes: Guard[str, int] = Guard()
        self._written = WrittenBytes(table)

    def find(self, logs: Mapping[str, float], owners: Collection[int]) -> dict[int, Lead]:
        """By pid, what leads to this topmost process. `logs`: real paths, and when they were written last."""
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
        held = self._files.ask({pid: partial(self._table.open_files, pid) for pid in near})
        seen = {pid: with_files(clue, files, logs) for pid, clue in near.items() if isinstance(files := held.get(pid), tuple)}
        seen = self._without_empty_logs(seen)
        silent = self._silent([stats[pid] for pid, clue in seen.items() if not clue.passes_on], max(logs.values(), default=0.0))
        writing = {pid: clue for pid, clue in seen.items() if not clue.passes_on and pid not in silent}
        return choose(writing, frozenset(logs), partial(topmost, stats))

    def _without_empty_logs(self, clues: Mapping[int, Clue]) -> dict[int, Clue]:
        """A file that nothing was written to takes nobody's output: it tells nothing against another log."""
        sizes = self._sizes.ask(
            {path: partial(os.path.getsize, path) for path in {clue.own_log for clue in clues.values()} - {""}}
        )
        return {pid: replace(clue, own_log="") if sizes.get(clue.own_log) == 0 else clue for pid, clue in clues.items()}

    def _silent(self, stats: Iterable[Stat], log_at: float) -> set[int]:
        """Who has not written the logs, nor anybody below it."""
        children = children_of(self._table.stats)
        trees = {stat.identity: descendants(children, stat.pid) for stat in stats}
        return {identity.pid for identity in self._written.rules_out(trees, log_at)}

    def pointing(self, pids: Iterable[int], logs: Mapping[str, float]) -> dict[int, Lead]:
        """What leads from the logs to these processes, if anything does and they were there when the logs were written."""
        stats = [self._table.stats[pid] for pid in pids if pid in self._table.stats]
        last, folders = _last_written(logs), _folders_of(logs)
        there = [stat for stat in stats if self._table.started_at(stat.start_ticks) <= last]
        self._ask(there)
        clues = {stat.pid: clue for stat in there if (clue := self._clues.get(stat.identity)) is not None}
        return {pid: lead for pid, clue in clues.items() if (lead := lead_of(clue, logs, folders)) is not None}

    def _ask(self, stats: Iterable[Stat]) -> None:
        due: dict[Hashable, Callable[[], Clue]] = {
            stat.identity: partial(self._clue, stat.pid) for stat in stats if stat.identity not in self._clues
        }
        answers = self._guard.ask(due)
        self._clues.update((identity, answer) for identity, answer in answers.items() if isinstance(answer, Clue))

    def _clue(self, pid: int) -> Clue:
        return Clue(self._table.command(pid), self._table.cwd(pid))


def with_files(clue: Clue, files: Collection[OpenFile], logs: Collection[str]) -> Clue:
    """With what the open files of that process tell."""
    reads = any(file.target in logs and not file.writable for file in files)
    takes = (file.target for file in files if file.fd == 1 and file.writable and file.target.startswith("/"))
    own_log = (target for target in takes if target not in logs and not target.startswith("/dev/"))
    return replace(clue, passes_on=reads or terminals_of(files) > 0, own_log=next(own_log, ""))


def choose(clues: Mapping[int, Clue], logs: Collection[str], top: Callable[[Collection[int]], list[int]]) -> dict[int, Lead]:
    """What leads to each, the surest first. Who has another file for its output is passed over, unless it names the log."""
    folders = _folders_of(logs)
    leads = {pid: lead for pid, clue in clues.items() if (lead := lead_of(clue, logs, folders)) and not reads_only(clue.command)}
    leads = {pid: lead for pid, lead in leads.items() if lead.kind == "log" or not clues[pid].own_log}
    by_kind = ([pid for pid, lead in leads.items() if lead.kind == kind] for kind in KINDS)
    return {pid: leads[pid] for pids in by_kind for pid in top(pids)}


def lead_of(clue: Clue, logs: Collection[str], folders: Collection[str]) -> Lead | None:
    """What leads from the logs to a process, if anything does."""
    if clue.names(logs):
        return Lead("log", "names it on its command line")
    if clue.names(folders):
        return Lead("folder", "names its folder on its command line")
    if not _works_in(clue, folders):
        return None
    return Lead("here", "works in its folder" if clue.cwd in folders else "works above its folder")


def reads_only(command: Sequence[str]) -> bool:
    """Whether it is a program of Python that looks at runs and is none."""
    return READERS.search(" ".join(command[:4])) is not None


def _last_written(logs: Mapping[str, float]) -> float:
    return max(logs.values(), default=0.0) + CLOCK_S


def _folders_of(logs: Collection[str]) -> set[str]:
    return {os.path.dirname(log) for log in logs} - {"/"}


def _works_in(clue: Clue, folders: Collection[str]) -> bool:
    """A program of Python in the log's own folder, or one that looks like training in it or a little above."""
    if not clue.command or not clue.cwd.startswith("/") or clue.cwd == "/":
        return False
    if clue.cwd in folders and PYTHON.search(clue.command[0]):
        return True
    below = [os.path.relpath(folder, clue.cwd) for folder in folders]
    near = any(not path.startswith("..") and path.count("/") < DEEPEST for path in below)
    return near and looks_like_training([" ".join(clue.command)])
