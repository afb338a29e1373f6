"""Stages of a pipeline: what writes the log waits for one that never goes on, whatever those before it do."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.process import ProcessReading, Writer
from hangtop.records.stack import Frame, Thread
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import OtherEnd, ThreadWait, WaitObject
from hangtop.records.watched_waits import ThreadMoves
from tests.fakes.members import BUSY, LOCK, NOW, SPEC, SPIN, USER, process, run, thread
from tests.fakes.waited import at_pipe, waits, watch, watched

READS = thread(Frame("main", USER, 90), wait="pipe")
OWN = OtherEnd(WaitObject("futex", shared=False), (101,))


def pipeline(lock: ThreadWait, *, complete: bool = True, writers: tuple[int, ...] = (102,)) -> Verdict:
    """Three processes, each reads from the one before it: the first computes, the second stands in a lock, the third has the log
    open."""
    stages = tuple(
        replace(process(number), rank=None, world=None, role="other", ppid=99, **more)
        for number, more in enumerate(({"recent": BUSY, "cpu_percent": 90.0, "state": "R"}, {}, {}))
    )
    state = run({0: SPIN, 1: LOCK, 2: READS}, stages, silence_s=130)
    beings = (
        watched(100, waits(100, state="R"), busy_in=4, moves=(ThreadMoves(100, 4, 4_000),)),
        watched(101, lock, complete=complete),
        watched(102, waits(102, at_pipe(101), kind="read")),
    )
    opened = tuple(Writer(pid, NOW - 900, "python", "python train.py") for pid in writers)
    return diagnose(
        replace(state, ranks={}, procs=ProcessReading(processes=stages, writers=opened), waits=watch(*beings, at=NOW - 10)),
        SPEC,
        NOW,
    )


def test_a_stage_that_is_locked_in_itself_is_named_though_the_stage_before_it_works() -> None:
    said = pipeline(waits(101, OWN, kind="futex"))
    assert (said.word, said.rule, [culprit.pid for culprit in said.culprits]) == ("hung", "cut_off", [101])


def test_a_stage_beside_the_members_is_named_too_though_nobody_works() -> None:
    """Two producers rest between what they write, a mixer reads where nobody writes, and a trainer reads from that."""
    makes = thread(Frame("produce", USER, 26), wait="sleep")
    mixes = Thread("MainThread", (Frame("mix", USER, 39), Frame("<module>", USER, 99)), state="S", wait="pipe")
    trains = Thread("MainThread", (Frame("train", USER, 55), Frame("<module>", USER, 98)), state="S", wait="pipe")
    processes = tuple(replace(process(number), rank=None, world=None, role="other", ppid=103) for number in (2,))
    ranks = tuple(replace(process(number), ppid=103) for number in (0, 1))
    top = replace(process(3), rank=None, world=None, role="other", ppid=1)
    state = run({0: makes, 1: makes, 2: mixes, 3: trains}, (top, *ranks, *processes), silence_s=130)
    beings = (watched(102, waits(102, at_pipe(102), kind="read")), watched(103, waits(103, at_pipe(102), kind="read")))
    reading = ProcessReading(processes=(top, *ranks, *processes), writers=(Writer(103, NOW - 900, "python", "python train.py"),))
    said = diagnose(replace(state, procs=reading, waits=watch(*beings, at=NOW - 10)), SPEC, NOW)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("hung", [102])


def test_who_only_waits_behind_another_that_is_locked_is_not_the_end_though_a_thread_of_its_own_stands() -> None:
    """The second stage reads from the third, which is locked in itself, and keeps a thread that waits to be given work."""
    stages = tuple(replace(process(number), rank=None, world=None, role="other", ppid=99) for number in range(3))
    state = run({0: READS, 1: READS, 2: LOCK}, stages, silence_s=130)
    spare = waits(101, OWN, kind="futex", tid=111)
    locked = OtherEnd(WaitObject("futex", shared=False), (102,))
    beings = (
        watched(100, waits(100, at_pipe(101), kind="read"), busy_in=4),
        watched(101, waits(101, at_pipe(102), kind="read"), spare),
        watched(102, waits(102, locked, kind="futex")),
    )
    reading = ProcessReading(processes=stages, writers=(Writer(100, NOW - 900, "python", "python train.py"),))
    said = diagnose(replace(state, ranks={}, procs=reading, waits=watch(*beings, at=NOW - 10)), SPEC, NOW)
    assert [culprit.pid for culprit in said.culprits] == [102]


def test_a_stage_of_which_a_thread_may_go_on_is_no_end() -> None:
    assert pipeline(waits(101, OWN, kind="futex"), complete=False).word == "slow"
    assert pipeline(waits(101, kind="sleep")).word == "slow"


def test_who_works_and_may_write_the_log_is_life() -> None:
    assert pipeline(waits(101, OWN, kind="futex"), writers=(100, 102)).word == "slow"
