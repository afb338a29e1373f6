"""Members that wait for one which acts by its own clock, after somebody has died."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.log import Finding
from hangtop.records.process import Process, RecentActivity
from hangtop.records.stack import Excerpt, Frame, Loop, Thread
from hangtop.state.run_state import RunState
from tests.fakes.members import IDLE, NOW, SPEC, THREADING, USER, process, run

BROKER = 101
ASKS = Thread(
    "MainThread", (Frame("SocketIO.readinto", "/usr/lib/python3.11/socket.py", 706), Frame("receive", USER, 18)), wait="socket"
)
TAKES = Thread(
    "MainThread",
    (Frame("Condition.wait", THREADING, 331), Frame("Queue.get", "/usr/lib/python3.11/queue.py", 180), Frame("main", USER, 81)),
    wait="lock",
)
ONCE_A_SECOND = replace(IDLE, switches_s=0.8, main_cpu_part=0.0001)
DIED = Finding("py.traceback", "fatal", "cause", 0, "KeyError: 'PATH'", hang="crash")


def broker(*findings: Finding, loop: Loop = "asks", recent: RecentActivity = ONCE_A_SECOND, silence_s: float = 200.0) -> RunState:
    """One process at its queue, and three that wait for its answer; the log told these."""

    def member(number: int, recent: RecentActivity) -> Process:
        return replace(process(number, recent), rank=None, world=None, role="other")

    processes = (member(1, recent), *(member(number, IDLE) for number in (2, 3, 4)))
    state = run({1: TAKES, 2: ASKS, 3: ASKS, 4: ASKS}, processes, silence_s=silence_s)
    source = Excerpt(USER, 81, ("            broker.handle(*inbox.get(timeout=1.0))",), at=81, loop=loop)
    looks = tuple(replace(look, excerpts=(source,)) for look in state.looks)
    assert state.log is not None
    return replace(state, looks=looks, log=replace(state.log, findings=findings))


def test_who_wakes_by_its_own_clock_may_give_the_work_of_the_dead_to_another() -> None:
    said = diagnose(broker(DIED), SPEC, NOW)
    assert (said.word, said.rule) == ("slow", "gives_anew")
    assert [(culprit.pid, culprit.confidence) for culprit in said.culprits] == [(BROKER, "possible")]


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (broker(), "nobody died, so that nothing is left to give anew"),
        (broker(replace(DIED, survived=True)), "whoever wrote it went on"),
        (broker(DIED, recent=IDLE), "nothing wakes it but a message"),
        (broker(DIED, loop="waits"), "its loop does nothing but wait"),
        (broker(DIED, silence_s=1000.0), "no lease takes so long"),
    ],
)
def test_it_hangs_where_no_clock_of_its_own_can_end_the_wait(state: RunState, why: str) -> None:
    assert diagnose(state, SPEC, NOW).word == "hung", why
