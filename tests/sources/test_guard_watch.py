"""What a guard does at which look: a real log, the clock moved by hand, and deeds that only say that they were done."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hangtop.common import clock
from hangtop.guard import watch as watch_module
from hangtop.guard.book_file import BookFile
from hangtop.guard.case import Case, Outcome
from hangtop.guard.due import Due
from hangtop.guard.lapses import Lapses
from hangtop.guard.lines_out import LinesOut
from hangtop.guard.policy import Policy, Restarts, When
from hangtop.guard.teller import Teller
from hangtop.guard.watch import SETTLES_S, GuardWatch
from tests.fakes.log_session import Session, append
from tests.scenarios.hours.replay import look

BEGINS = 1_768_000_000.0
STALL_S = 60.0
SILENT = ("stalled", "hung")
STOP = Policy(when=(When(SILENT, "stop", confidence="possible"),))


class Night:
    """A run that writes a step each two seconds unless it hangs, and the guards that watch it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.folder, self.log, self.at, self.done = folder, folder / "train.log", 0, []
        self.options, self.outcome = options, Outcome(True, "well")
        self.plans_for, self.works_for = 0.0, 0.0
        self.hangs, self.step = False, 0
        monkeypatch.setattr(clock, "now", lambda: BEGINS + self.at)
        monkeypatch.setattr(clock, "set_again", lambda: None)
        monkeypatch.setattr(watch_module, "carry_out", self._carry_out)
        self.log.write_text("")
        self.session = Session(self.log, stall_s=STALL_S)

    async def _carry_out(self, due: Due, case: Case) -> Outcome:
        self.done.append(due.deed)
        for _ in range(round(self.plans_for)):
            await asyncio.sleep(0)
            if case.called_off.is_set():
                return Outcome(False, "called off", nothing=True)
        assert case.begins(None)
        for _ in range(round(self.works_for)):
            await asyncio.sleep(0)
        return self.outcome

    def guard(self, policy: Policy) -> GuardWatch:
        """A guard that was just started."""
        self.file = BookFile(self.session.spec, self.folder, dry_run=self.options.get("dry_run", False))
        self.out = os.open(self.folder / "events", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        teller = Teller(("train.log",), LinesOut(self.out), LinesOut(self.out), clock.now)
        return GuardWatch(self.session.spec, policy, self.file, teller, now=clock.now, lapses=Lapses(), **self.options)

    def end_guard(self) -> None:
        """As a kill does: nothing is said, nothing is finished."""
        self.file.close()
        os.close(self.out)

    async def goes_on(self, guard: GuardWatch, seconds: float) -> None:
        """So much time passes, a look each two seconds."""
        for _ in range(0, round(seconds), 2):
            self.at += 2
            if not self.hangs:
                self.step += 1
                append(self.log, f"step {self.step}/100000 loss 2.0\n")
                os.utime(self.log, (clock.now(),) * 2)
            look(self.session)
            guard.look(self.session.state)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    @property
    def told(self) -> list[tuple[str, str | None]]:
        """What was told, and of which event."""
        lines = [line for line in (self.folder / "events").read_text().splitlines() if line.startswith("{")]
        return [(event["what"], event["name"]) for event in map(json.loads, lines)]


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Night]:
    made = Night(tmp_path, monkeypatch)
    yield made
    made.session.source.close()


async def test_a_run_that_hangs_is_stopped_once(night: Night) -> None:
    guard = night.guard(STOP)
    await night.goes_on(guard, 200)
    assert night.done == []
    night.hangs = True
    await night.goes_on(guard, 2000)
    assert night.done == ["stop"]


async def test_after_a_start_nothing_is_ended_before_the_guard_has_watched_for_the_stall_limit(night: Night) -> None:
    await night.goes_on(night.guard(Policy()), 200)
    night.end_guard()
    night.at, night.hangs = night.at + 5000, True
    guard = night.guard(STOP)
    await night.goes_on(guard, STALL_S - 4)
    assert ("verdict", "stalled") in night.told
    assert night.done == []
    await night.goes_on(guard, 8)
    assert night.done == ["stop"]


async def test_a_guard_that_is_started_again_does_nothing_twice_and_tells_nothing_twice(night: Night) -> None:
    policy = Policy(when=(When(SILENT, ("stacks", "bundle"), confidence="possible"),))
    guard = night.guard(policy)
    await night.goes_on(guard, 200)
    night.hangs = True
    for _ in range(5):
        await night.goes_on(guard, 200)
        night.end_guard()
        guard = night.guard(policy)
    assert night.done == ["stacks", "bundle"]
    assert night.told.count(("verdict", "stalled")) == 1


async def test_what_a_killed_guard_had_begun_is_not_begun_again(night: Night) -> None:
    guard = night.guard(STOP)
    await night.goes_on(guard, 200)
    night.hangs, night.works_for = True, 1e6
    await night.goes_on(guard, 200)
    night.end_guard()
    await night.goes_on(night.guard(STOP), 2000)
    assert night.done == ["stop"]


async def test_what_a_killed_guard_had_only_planned_is_done_by_the_next(night: Night) -> None:
    guard = night.guard(STOP)
    await night.goes_on(guard, 200)
    night.hangs, night.plans_for = True, 1e6
    await night.goes_on(guard, 200)
    assert ("deed", "stalled") not in night.told
    night.end_guard()
    night.plans_for = 0
    await night.goes_on(night.guard(STOP), 2000)
    assert night.done == ["stop", "stop"]
    assert night.told.count(("deed", "stalled")) == 1


async def test_a_stop_is_called_off_when_the_run_goes_on(night: Night) -> None:
    guard = night.guard(STOP)
    await night.goes_on(guard, 200)
    night.hangs, night.plans_for = True, 1e6
    await night.goes_on(guard, 200)
    night.hangs = False
    await night.goes_on(guard, 20)
    assert not guard.acts
    assert night.file.book.done[-1].outcome == "called off"
    night.hangs, night.plans_for = True, 0
    await night.goes_on(guard, 300)
    assert night.done == ["stop", "stop"], "the next hang is another one"


async def test_the_looks_right_after_a_restart_are_of_the_old_run(night: Night) -> None:
    restart = Policy(when=(When(SILENT, "restart", confidence="possible"),), restart=Restarts(back_off=0))
    guard = night.guard(restart)
    await night.goes_on(guard, 200)
    night.hangs = True
    await night.goes_on(guard, 200)
    before = len(night.told)
    await night.goes_on(guard, SETTLES_S)
    assert (night.done, night.file.book.starts != ()) == (["restart"], True)
    assert [what for what, _ in night.told[before:] if what != "outcome"] == []


async def test_a_silence_across_a_lapse_is_none(night: Night) -> None:
    guard = night.guard(STOP)
    await night.goes_on(guard, 200)
    night.at += 8 * 3600
    guard._begin_anew("the clock went forward by 8h00, or this machine slept")
    night.hangs = True
    await night.goes_on(guard, STALL_S - 10)
    assert ("verdict", "stalled") not in night.told
    night.hangs = False
    await night.goes_on(guard, 100)
    assert (night.done, ("verdict", "stalled") in night.told) == ([], False)


async def test_a_log_that_is_lost_ends_nothing_and_comes_back(night: Night) -> None:
    policy = Policy(when=(When((*SILENT, "blind"), "notify", confidence="possible"), When(SILENT, "stop", confidence="possible")))
    guard = night.guard(policy)
    await night.goes_on(guard, 200)
    night.log.rename(night.folder / "away")
    night.hangs = True
    await night.goes_on(guard, 40)
    (night.folder / "away").rename(night.log)
    night.hangs = False
    await night.goes_on(guard, 100)
    assert night.done == []
    assert guard.verdict is not None
    assert guard.verdict.word == "running"


async def test_with_dry_run_nothing_is_done_and_it_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    night = Night(tmp_path, monkeypatch, dry_run=True)
    guard = night.guard(STOP)
    await night.goes_on(guard, 200)
    night.hangs = True
    await night.goes_on(guard, 1000)
    night.session.source.close()
    assert (night.done, night.told.count(("outcome", "stalled"))) == ([], 1)


async def test_a_run_that_is_not_to_be_ended_is_left_alone_and_why_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    night = Night(tmp_path, monkeypatch, may_harm=lambda _: "pid 7 is of a run that hangtop did not start")
    guard = night.guard(STOP)
    await night.goes_on(guard, 200)
    night.hangs = True
    await night.goes_on(guard, 1000)
    night.session.source.close()
    assert night.done == []
    assert night.file.book.done[-1].outcome == "pid 7 is of a run that hangtop did not start"


async def test_what_is_less_sure_than_asked_for_is_never_ended(night: Night) -> None:
    guard = night.guard(Policy(when=(When(SILENT, "stop", confidence="certain"),)))
    await night.goes_on(guard, 200)
    night.hangs = True
    await night.goes_on(guard, 2000)
    assert night.done == []


async def test_what_could_not_be_written_down_is_not_done(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = night.guard(STOP)
    await night.goes_on(guard, 200)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("hangtop.guard.book_file.write_whole", full)
        night.hangs = True
        await night.goes_on(guard, 1200)
        assert night.done == []
        assert night.told.count(("outcome", "stalled")) == 1
    await night.goes_on(guard, 200)
    assert night.done == ["stop"], "once there is room again"
