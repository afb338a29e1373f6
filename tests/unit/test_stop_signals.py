"""Whatever the process table does meanwhile, no signal reaches a process that was not in the plan.

A table in memory whose pids end, are reused, change owner and get children between any two looks; and a kernel that takes down
every signal. Without pidfds, so that the start time is all there is to tell two processes apart.
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

from hangtop.actions import ending, survivors
from hangtop.actions.ending import end
from hangtop.actions.steps import Halt
from hangtop.actions.stop import Myself, plan
from hangtop.model import RunState
from hangtop.records.plan import Plan, Step
from hangtop.records.process import Process, ProcessReading
from hangtop.sources.proc.table import Details, Stat

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
        for pid in range(1, count + 1):
            self._born(pid, chance.randrange(0, pid))

    @property
    def stats(self) -> Mapping[int, Stat]:
        return self._stats

    def refresh(self, watched: Collection[int]) -> None:
        for _ in range(self._chance.randrange(3)):
            pid = self._chance.randrange(2, 60)
            if self._chance.random() < 0.5:
                self._stats.pop(pid, None)
            else:
                self._born(pid, self._chance.choice(list(self._stats) or [1]))

    def started_at(self, start_ticks: int) -> float:
        return start_ticks / 100

    def owner(self, pid: int) -> int | None:
        return self.owners.get(pid) if pid in self._stats else None

    def command(self, pid: int) -> tuple[str, ...]:
        return ("python", "train.py")

    def details(self, pid: int) -> Details:
        return Details()

    def end(self, pid: int, number: int) -> None:
        if number == signal.SIGKILL or pid not in self.stubborn:
            self._stats.pop(pid, None)

    def _born(self, pid: int, ppid: int) -> None:
        self._ticks += 1
        state = self._chance.choice("RSSSDTZ")
        self._stats[pid] = Stat(pid, "python", state, ppid, ppid, ppid, self._ticks)
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
    monkeypatch.setattr(ending, "KILL_WAIT_S", 0.0)
    monkeypatch.setattr(ending, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(survivors, "files_of", lambda *_: frozenset())  # these pids are none of the machine
    monkeypatch.setattr(survivors, "RESTARTED_WITHIN_S", 0.0)


@settings(max_examples=1_200, deadline=None)
@given(st.integers(0, 2**32), st.integers(3, 40))
def test_no_signal_leaves_the_plan(seed: int, count: int) -> None:
    chance = random.Random(seed)
    table = RestlessTable(chance, count)
    run = [stat for stat in table.stats.values() if stat.pid % 2 == 0]  # the odd pids are the run beside it
    me = Myself(chance.randrange(1, count + 1), frozenset(chance.sample(range(1, count + 1), 2)), UID)
    made = plan(RunState(procs=ProcessReading(processes=tuple(described(table, stat) for stat in run))), me)
    if not isinstance(made, Plan):
        return
    sent: list[tuple[int, int, int | None]] = []

    def kill(pid: int, number: int) -> None:
        stat = table.stats.get(pid)
        sent.append((pid, stat.start_ticks if stat else 0, table.owner(pid)))
        if stat is None:
            raise ProcessLookupError
        table.end(pid, number)

    halt = Halt()
    halt.asked = chance.random() < 0.1  # a person may break it off at any moment
    steps = told(replace(made, grace_s=0.0), table, kill, halt)
    assert not (halt.asked and sent)
    meant = {(target.pid, target.start_ticks) for target in made.targets}
    for pid, ticks, owner in sent:
        assert pid % 2 == 0
        assert pid > 1
        assert pid not in (me.pid, os.getpid(), *me.ancestors)
        assert (pid, ticks) in meant
        assert owner == UID
    assert {step.pid for step in steps if step.kind == "doing"} <= {pid for pid, _ in meant}


def told(made: Plan, table: RestlessTable, kill: object, halt: Halt) -> list[Step]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "kill", kill)
        return list(end(made, table, halt))  # type: ignore[arg-type]
