"""The run's own processes: found from the writers of its log, then followed for as long as they live."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Mapping
from functools import partial

from msgspec.structs import replace

from hangtop.common.clean_words import clean_words
from hangtop.probe.processes.present_attempt import MEMBERS
from hangtop.probe.processes.rank_assignment import RankAssignment, log_ranks
from hangtop.probe.processes.sibling_ranks import sibling_ranks
from hangtop.probe.ray.local.session_files import driver_jobs, ray_workers
from hangtop.records.process import WROTE_MOST_BYTES, Process, ProcessRole
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.agents.agent_client import expected_path
from hangtop.system.files.open_files import YOUNG_S
from hangtop.system.guard import Guard
from hangtop.system.processes.environments import ProcessFacts, ProcessFactTable
from hangtop.system.processes.exits import Exits
from hangtop.system.processes.login_shells import LoginShells
from hangtop.system.processes.rates import RateHistory, Sample, window_s
from hangtop.system.processes.roles import SHELLS, is_hangtop
from hangtop.system.processes.slurm_steps import step_daemons
from hangtop.system.processes.table import Details, Identity, OpenFile, ProcessTable, Stat
from hangtop.system.processes.tree import (
    Children,
    ancestors,
    children_of,
    descendants,
    left_behind,
    preorder,
    with_launchers,
    with_subtrees,
    without,
)
from hangtop.system.processes.users import Users
from hangtop.system.ptrace_permission import ptrace_permission, refusal

SELDOM = 5
"""Every so many updates a process is read that is no rank and not in trouble."""
FEW = 64
"""Up to so many processes are all read each time where none is known to be a rank."""
FORGET_EVERY = 60
ALIKE: frozenset[ProcessRole] = frozenset(("data worker", "compiler"))
ALIKE_COMMAND = 160
"""There are many of these, with the long command line of their rank; so many characters of it are kept."""
MAX_ENDED = 256
ENDED_ROLES: frozenset[ProcessRole] = frozenset(("rank", "launcher"))
"""Roles whose end is told."""
WATCHED_ROLES: frozenset[ProcessRole] = frozenset(("rank", "launcher", "engine core", "ray worker"))

SEEN_LATE_S = 2.0
"""An end is seen a look or two late."""
STARTED_NS = 4_000_000
"""`sleep`, `tail -f` and `bash` had run for 1.4 to 2.4 ms when they waited, an empty Python program for 13 ms (measured)."""

Files = Mapping[int, tuple[OpenFile, ...]]


class RunTree:
    """The processes of one run. Call `update` once per refresh of the table."""

    def __init__(self, spec: WatchSpec, table: ProcessTable, exits: Exits, shells: LoginShells) -> None:
        self._command = ("hangtop", *(word for log in spec.logs for word in ("--log", log)))
        self._rights: dict[int | None, str] = {}
        self._agents: dict[Identity, str] = {}
        self._table = table
        self._exits = exits
        self._shells = shells
        self._users = Users()
        self.book = ProcessFactTable(table)
        self._details: Guard[Identity, Details] = Guard()
        self._histories: dict[Identity, RateHistory] = {}
        self._window_s = window_s(spec.stall_s)
        self._placing = RankAssignment()
        self._last: dict[Identity, Process] = {}
        self._ended: dict[Identity, Process] = {}
        self._found_from: tuple[Mapping[int, Stat], Files, set[int], frozenset[Identity]] | None = None
        self._of_ray: frozenset[Identity] = frozenset()
        self._members: list[int] = []
        self._log_ranks: Mapping[int, int] = {}
        self._looks = 0

    @property
    def members(self) -> set[int]:
        """The pids of the run as of the last update."""
        return {identity.pid for identity in self._last}

    @property
    def written_bytes(self) -> int | None:
        """What its living processes wrote through all write calls, with the children that they waited for; `None` where one does
        not tell."""
        told = [None if known.details is None else known.details.written_bytes for known in self._histories.values()]
        counts = [count for count in told if count is not None]
        return sum(counts) if len(counts) == len(told) else None

    @property
    def computed(self) -> frozenset[int]:
        """The pids of those that ever computed, more than it takes to start a tool and to sleep."""
        known = ((identity.pid, history.details) for identity, history in self._histories.items())
        return frozenset(pid for pid, told in known if told is not None and (told.main_cpu_ns or 0) > STARTED_NS)

    @property
    def of_ray(self) -> frozenset[int]:
        """Members only because of their Ray session, which is proven to be the run's."""
        return frozenset(identity.pid for identity in self._of_ray)

    @property
    def _members_are_others(self) -> bool:
        """Whether this is a small run without ranks. Only a process that is read each time tells whether it waits in vain."""
        return len(self._last) <= FEW and not any(process.role in ("rank", "ray worker") for process in self._last.values())

    @property
    def ended(self) -> tuple[Process, ...]:
        """Ranks that have ended and were not started again, and launchers that left living ranks behind."""
        alive = {
            (process.role, process.rank)
            for process in self._last.values()
            if process.role in ENDED_ROLES and process.state not in "ZX"
        }
        return tuple(
            process
            for process in self._ended.values()
            if (process.role, process.rank) not in alive and (process.role == "rank" or (alive and process.exit_code != 0))
        )

    def forget(self) -> None:
        """Find the members anew from the writers: some belong to another run, or another run is watched now."""
        self._last, self._ended, self._found_from = {}, {}, None

    def due(self) -> set[int]:
        """The pids that the next update reads: ranks and processes in trouble each time, data workers and the like now and
        then."""
        return {identity.pid for identity, process in self._last.items() if self._is_due(process, process.state)}

    def update(
        self, writers: Collection[int], files: Files, now: float, workers: frozenset[Identity] = frozenset()
    ) -> tuple[Process, ...]:
        """The run as a tree, parents first. `writers`: pids from which it is found; `workers`: of Ray, known to be its own.
        `now`: unix time."""
        stats = self._table.stats
        members = self._find_members(writers, files, now, workers)
        last = {pid: self._last.get(stats[pid].identity) for pid in members}
        due = [pid for pid, known in last.items() if known is None or self._is_due(known, stats[pid].state)]
        facts = self.book.of(members, now)
        self._placing.assign(due, stats, facts)
        self._sample(due, now)
        found = {pid: known for pid, known in last.items() if known is not None}
        found |= {pid: self._process(stats[pid], facts[pid], files.get(pid, ())) for pid in due}
        processes = with_subtrees([_numbered(found[pid], self._log_ranks.get(pid)) for pid in members])
        self._settle(processes, now)
        self._looks += 1
        return processes

    def others(self, pids: Iterable[int], files: Files, now: float) -> tuple[Process, ...]:
        """Processes outside the run, in the same form but without rates."""
        stats = self._table.stats
        there = [pid for pid in pids if pid in stats]
        facts = self.book.of(there, now)
        self._placing.assign([pid for pid in there if stats[pid].identity not in self._last], stats, facts)
        return tuple(self._process(stats[pid], facts[pid], files.get(pid, ())) for pid in there)

    def _find_members(self, writers: Collection[int], files: Files, now: float, workers: frozenset[Identity]) -> list[int]:
        """The pids of the run, parents first. Found anew only when a process came, went, or has other files open."""
        stats, found_from = self._table.stats, (self._table.stats, files, set(writers), workers)
        known = self._found_from
        if known is None or known[0] is not stats or known[1] is not files or known[2:] != found_from[2:]:
            shells = self._shells.find(now)
            children = without(children_of(stats), shells)
            found, unread = self._find(writers, files, children, shells, now)
            roots = [worker.pid for worker in workers if worker.pid in stats and stats[worker.pid].identity == worker]
            with_ray = found | {pid for root in roots for pid in descendants(children, root)} - _own(stats)
            self._of_ray = frozenset(stats[pid].identity for pid in with_ray - found)
            self._members = preorder(children, with_ray, stats)
            self._log_ranks = log_ranks(self._members, files, stats)
            young = any(self._is_young(stats[pid], now) for pid in self._members)  # it may yet become another program
            self._found_from = None if young or unread else found_from
        return self._members

    def _find(
        self, writers: Collection[int], files: Files, children: Children, shells: Collection[int], now: float
    ) -> tuple[set[int], set[int]]:
        """Members, and those that may be members: nobody knows yet what they are."""
        stats = self._table.stats
        above = {pid for writer in writers for pid in ancestors(stats, writer)}
        facts = self.book.of(above, now)
        own = _own(stats)

        def is_launcher(pid: int) -> bool:
            return pid in facts and pid not in own and facts[pid].role == "launcher"

        roots = with_launchers(stats, [pid for pid in writers if pid in stats], is_launcher, shells)
        roots += left_behind(stats, roots)
        roots += sibling_ranks(writers, stats, children, files, lambda pids: self.book.of(pids, now))
        seen = self._last.keys() - self._of_ray
        roots += [identity.pid for identity in seen if identity.pid in stats and stats[identity.pid].identity == identity]
        found = {pid for root in roots for pid in descendants(children, root)}
        daemons = step_daemons(self._table, self.book, found, children, now)
        found |= {pid for daemon in daemons for pid in descendants(children, daemon)}
        found |= {pid for worker in ray_workers(stats, files, found) for pid in descendants(children, worker)}
        facts = self.book.of(found, now)
        unread = {pid for pid in facts.keys() & found if self._is_unread(stats[pid], facts[pid], now)}
        others = own | unread | {pid for pid, known in facts.items() if is_hangtop(known.command)}
        return {pid for pid in found - others if pid > 1}, unread

    def _is_young(self, stat: Stat, now: float) -> bool:
        return now - self._table.started_at(stat.start_ticks) < YOUNG_S

    def _is_unread(self, stat: Stat, facts: ProcessFacts, now: float) -> bool:
        """Whether it is new and has no command line yet: while a program is being started (execve(2)), the kernel shows neither
        arguments nor environment, and this one may be a hangtop. One that is older never answers."""
        new = stat.identity not in self._last and self._is_young(stat, now)
        return new and not facts.command and not facts.denied and stat.state not in "ZX" and not stat.kernel

    def _sample(self, pids: list[int], now: float) -> None:
        stats = [self._table.stats[pid] for pid in pids]
        living = [stat for stat in stats if stat.state not in "ZX"]
        answers = self._details.known({stat.identity: partial(self._table.details, stat.pid) for stat in living})
        for stat in stats:
            history = self._histories.setdefault(stat.identity, RateHistory(self._table.ticks_per_s, self._window_s))
            history.add(Sample(now, stat, answers.get(stat.identity)))

    def _is_due(self, known: Process, state: str) -> bool:
        if known.role in WATCHED_ROLES or known.recent is None or state in "DTtZ":
            return True
        if known.role == "other" and self._members_are_others:
            return True
        return known.pid % SELDOM == self._looks % SELDOM

    def _process(self, stat: Stat, facts: ProcessFacts, files: tuple[OpenFile, ...]) -> Process:
        """One process as it is known now, without its subtree."""
        if stat.state in "ZX":
            self._exits.watch(stat)
        placed = self._placing.place_of(stat.identity)
        history = self._histories.get(stat.identity) or RateHistory(self._table.ticks_per_s)
        details = history.details or Details()
        uid = details.uid if details.uid is not None else self._table.owner(stat.pid)
        waits = stat.state not in "RZX"
        return Process(
            pid=stat.pid,
            started_at=self._table.started_at(stat.start_ticks),
            start_ticks=stat.start_ticks,
            ppid=stat.ppid,
            name=clean_words(stat.name),
            command=facts.line if placed.role not in ALIKE else facts.line[:ALIKE_COMMAND],
            state=stat.state,
            role="launcher" if placed.role == "other" and driver_jobs(files) else placed.role,
            rank=placed.rank,
            local_rank=placed.local_rank,
            world=placed.world,
            restarts_left=placed.restarts_left,
            uid=uid,
            user=self._users.name(uid),
            state_since=history.state_since,
            wchan=details.wchan if waits else None,
            tracer_pid=details.tracer_pid,
            exit_code=self._exits.code(stat.identity) if stat.state in "ZX" else None,
            threads=stat.threads,
            rss_bytes=stat.rss_bytes,
            cpu_percent=history.cpu_percent_since(self._table.started_at(stat.start_ticks)),
            reaped_percent=history.reaped_percent,
            read_b_s=history.rate(lambda details: details.read_bytes),
            write_b_s=history.rate(lambda details: details.write_bytes),
            recent=history.recent(),
            devices=gpu_numbers(files),
            visible_devices=facts.environ.get("CUDA_VISIBLE_DEVICES"),
            log_rank=self._last[stat.identity].log_rank if stat.identity in self._last else None,
            wrote_bytes=_up_to(details.own_written_bytes, WROTE_MOST_BYTES),
            missing_right=self._right(stat.pid, uid) if details.denied or facts.denied else None,
            can_be_asked=self._can_be_asked(stat),
        )

    def _can_be_asked(self, stat: Stat) -> bool:
        """Of a container it is not said: its root may be a file system that does not answer."""
        path = self._agents.get(stat.identity)
        if path is None:
            path = self._agents[stat.identity] = expected_path(stat.pid)
        return bool(path) and not path.startswith("/proc") and stat.state not in "ZX" and os.path.exists(path)

    def _right(self, pid: int, uid: int | None) -> str:
        """The command that lets us read this user's processes."""
        if os.geteuid() != 0:
            return f"sudo {shlex.join(self._command)}"
        if uid not in self._rights:
            self._rights[uid] = refusal(ptrace_permission(pid), self._command)[1]
        return self._rights[uid]

    def _settle(self, processes: tuple[Process, ...], now: float) -> None:
        """Tell the processes that ended since the last update from those that live."""
        stats = self._table.stats
        present = {stats[process.pid].identity: process for process in processes}
        for process in processes:
            if process.role in WATCHED_ROLES or process.state == "Z":
                self._exits.watch(stats[process.pid])
        for identity, process in self._last.items():
            gone = (stat := stats.get(identity.pid)) is None or stat.identity != identity  # else it became a hangtop
            if gone and process.role in ENDED_ROLES and process.name not in SHELLS:
                self._ended[identity] = replace(process, state="X", state_since=now, wchan=None, recent=None)
        for identity, process in self._ended.items():
            if process.exit_code is None:
                self._ended[identity] = replace(process, exit_code=self._exits.code(identity))
        anew = [process for process in processes if process.pid in self.computed or process.wrote_bytes]
        self._ended = dict(list(_of_this_attempt(self._ended, processes, anew).items())[-MAX_ENDED:])
        self._last = present
        self._agents = {identity: path for identity, path in self._agents.items() if identity in present}
        if self._looks % FORGET_EVERY == 0:
            self.book.forget_gone()
        self._histories = {identity: self._histories[identity] for identity in present}
        self._placing.forget_but(present)


def _of_this_attempt(
    ended: Mapping[Identity, Process], processes: Iterable[Process], at_work: Iterable[Process]
) -> dict[Identity, Process]:
    """Without ranks that were started again: how an earlier attempt ended says nothing of this one. Nor is a rank of this attempt
    that ended before any process began that is `at_work` now."""
    present = [each for each in at_work if each.role in MEMBERS and each.name not in SHELLS and each.state not in "ZX"]
    began_at = min((process.started_at for process in present), default=0.0)
    begun: dict[int | None, float] = {}
    for process in processes:
        if process.role == "rank" and process.state not in "ZX":
            begun[process.rank] = max(process.started_at, begun.get(process.rank, 0.0))
    return {
        identity: process
        for identity, process in ended.items()
        if process.role != "rank" or (process.started_at >= begun.get(process.rank, 0.0) and not _is_before(process, began_at))
    }


def _is_before(ended: Process, began_at: float) -> bool:
    """Whether it began and ended before the processes that run now."""
    return ended.started_at < began_at - SEEN_LATE_S and (ended.state_since or 0.0) < began_at + SEEN_LATE_S


def _numbered(process: Process, log_rank: int | None) -> Process:
    """With the rank of its log, kept once it was seen: a file that is opened for each line shows only now and then."""
    return process if log_rank is None or process.log_rank == log_rank else replace(process, log_rank=log_rank)


def _up_to(count: int | None, most: int) -> int | None:
    return None if count is None else min(count, most)


def gpu_numbers(files: tuple[OpenFile, ...]) -> tuple[int, ...]:
    """The numbers of the `/dev/nvidiaN` among these files, one for each time that it is open."""
    numbers = [file.target.removeprefix("/dev/nvidia") for file in files if file.target.startswith("/dev/nvidia")]
    return tuple(sorted(int(text) for text in numbers if text.isdecimal()))


def _own(stats: Mapping[int, Stat]) -> set[int]:
    """hangtop itself and its ancestors: never part of a run."""
    return {os.getpid(), *ancestors(stats, os.getpid())}
