"""Whatever the process table does meanwhile, no signal reaches a process that neither was in the plan nor descends from it.

A table in memory whose pids end, are reused, change owner and get children between any two looks; and a kernel that takes down
every signal. Without pidfds, so that the start time is all there is to tell two processes apart. The table knows the true
descent of all, which /proc forgets when a parent ends.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Collection, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hangtop.actions.execute import terminate
from hangtop.actions.execute.steps import CancelFlag
from hangtop.actions.execute.terminate import terminate_processes
from hangtop.actions.plans.stop_plan import stop_plan
from hangtop.actions.prove import verify_terminated
from hangtop.records.plan import OwnProcess, Plan, Step
from hangtop.records.process import Process, ProcessReading
from hangtop.state.run_state import RunState
from hangtop.system.processes.table import Details, Identity, OpenFile, Stat

UID = os.geteuid()


class RestlessTable:
    """Two runs, their launchers, and the rest of a machine; each look may find it changed."""

    ticks_per_s = 100

    def __init__(self, chance: random.Random, count: int) -> None:
        self._chance = chance
        self._ticks = 1_000
        self.owners: dict[int, int] = {}
        self.stubborn: set[int] = set()
        self._stats: dict[int, Stat] = {}
        self.parents: dict[Identity, Identity | None] = {}
        for pid in range(1, count + 1):
            self._born(pid, chance.randrange(0, pid))

    @property
    def stats(self) -> Mapping[int, Stat]:
        return self._stats

    def refresh(self, watched: Collection[int]) -> None:
        for _ in range(self._chance.randrange(3)):
            pid = self._chance.randrange(2, 60)
            if self._chance.random() < 0.5:
                self._gone(pid)
            elif self._may_be_given(pid):
                living = [stat.pid for stat in self._stats.values() if stat.state != "Z"]  # a zombie starts nothing
                self._born(pid, self._chance.choice(living or [1]))

    def descends(self, identity: Identity, tops: Collection[Identity]) -> bool:
        """By birth, whatever has become of those between."""
        up: Identity | None = identity
        while up is not None and up not in tops:
            up = self.parents[up]
        return up is not None

    def _may_be_given(self, pid: int) -> bool:
        """The kernel gives no pid away that is the number of a group or session with anybody in it."""
        taken = {number for stat in self._stats.values() for number in (stat.pid, stat.group, stat.session)}
        return pid not in taken

    def started_at(self, start_ticks: int) -> float:
        return start_ticks / 100

    def owner(self, pid: int) -> int | None:
        return self.owners.get(pid) if pid in self._stats else None

    def command(self, pid: int) -> tuple[str, ...]:
        return ("python", "train.py")

    def details(self, pid: int) -> Details:
        return Details()

    def environ(self, pid: int) -> Mapping[str, str]:
        return {}

    def open_files(self, pid: int) -> tuple[OpenFile, ...]:
        return ()

    def cgroup(self, pid: int) -> str:
        return ""

    def layout(self, pid: int) -> None:
        return None

    def end(self, pid: int, number: int) -> None:
        if number == signal.SIGKILL or pid not in self.stubborn:
            self._gone(pid)

    def _gone(self, pid: int) -> None:
        """Its children are taken in by pid 1."""
        self._stats.pop(pid, None)
        for child in [stat for stat in self._stats.values() if stat.ppid == pid]:
            self._stats[child.pid] = replace(child, ppid=1)

    def _born(self, pid: int, ppid: int) -> None:
        """In the group and session of its parent, or in one of its own."""
        self._ticks += 1
        parent = self._stats.get(ppid)
        apart = parent is None or self._chance.random() < 0.3
        group, session = (pid, pid) if apart or parent is None else (parent.group, parent.session)
        state = self._chance.choice("RSSSDTZ")
        self._stats[pid] = Stat(pid, "python", state, ppid, group, session, self._ticks)
        self.parents[self._stats[pid].identity] = parent.identity if parent is not None else None
        self.owners[pid] = self._chance.choice([UID, UID, UID, UID + 1])
        if self._chance.random() < 0.3:
            self.stubborn.add(pid)


def described(table: RestlessTable, stat: Stat) -> Process:
    return Process(
        stat.pid, stat.start_ticks / 100, stat.start_ticks, stat.ppid, "python", "python train.py", stat.state,
        table_role(stat), uid=table.owners[stat.pid],
    )  # fmt: skip


def table_role(stat: Stat) -> str:
    return "ray daemon" if stat.pid % 7 == 0 else "rank"


@pytest.fixture(autouse=True)
def _without_pidfd_and_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.setattr(terminate, "KILL_WAIT_S", 0.0)
    monkeypatch.setattr(terminate, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(verify_terminated, "files_of", lambda *_: frozenset())  # these pids are none of the machine
    monkeypatch.setattr(terminate, "LOOK_SOON_S", 0.0)
    monkeypatch.setattr(terminate, "RESTARTED_WITHIN_S", 0.0)


@settings(max_examples=1_200, deadline=None)
@given(st.integers(0, 2**32), st.integers(3, 40))
def test_no_signal_leaves_the_plan_and_what_descends_from_it(seed: int, count: int) -> None:
    chance = random.Random(seed)
    table = RestlessTable(chance, count)
    tops = {stat.identity for stat in table.stats.values() if stat.pid % 2 == 0}
    run = [stat for stat in table.stats.values() if table.descends(stat.identity, tops)]  # the odd pids are the run beside it
    me = OwnProcess(chance.randrange(1, count + 1), frozenset(chance.sample(range(1, count + 1), 2)), UID)
    made = stop_plan(RunState(procs=ProcessReading(processes=tuple(described(table, stat) for stat in run))), me)
    if not isinstance(made, Plan):
        return
    before = {stat.identity for stat in table.stats.values()}
    sent: list[tuple[int, int, int | None]] = []

    def kill(pid: int, number: int) -> None:
        stat = table.stats.get(pid)
        sent.append((pid, stat.start_ticks if stat else 0, table.owner(pid)))
        if stat is None:
            raise ProcessLookupError
        table.end(pid, number)

    halt = CancelFlag()
    halt.asked = chance.random() < 0.1  # a person may break it off at any moment
    steps = told(replace(made, grace_s=0.0), table, kill, halt)
    assert not (halt.asked and sent)
    meant = {Identity(target.pid, target.start_ticks) for target in made.targets}
    assert {identity.pid for identity in meant}.isdisjoint((me.pid, os.getpid(), *me.ancestors))
    for pid, ticks, owner in sent:
        assert pid > 1
        assert pid != os.getpid()
        assert table.descends(Identity(pid, ticks), meant)
        assert Identity(pid, ticks) in meant or Identity(pid, ticks) not in before
        assert owner == UID
    told_of = {Identity(step.pid, step.start_ticks or 0) for step in steps if step.kind == "doing" and step.pid is not None}
    assert all(table.descends(identity, meant) for identity in told_of)


def told(made: Plan, table: RestlessTable, kill: object, halt: CancelFlag) -> list[Step]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "kill", kill)
        return list(terminate_processes(made, table, halt))  # type: ignore[arg-type]
