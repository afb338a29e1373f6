"""When the debug servers of PyTorch are asked, for whose stacks, and when a verdict waits for them."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.snapshot import Snapshot, take_snapshot
from hangtop.monitor.debug_requests import debug_request, debug_to_come
from hangtop.monitor.stack_requests import satisfied
from hangtop.records.health import SourceHealth
from hangtop.records.torch_debug import TorchDebugReading
from hangtop.state.run_state import RunState
from tests.fakes.members import LOCK, NOW, SPEC, four

FOUND = TorchDebugReading(at=NOW - 900, asked=4)
ANSWERED = TorchDebugReading(7, NOW - 5, 4)
WELL = SourceHealth("torchdebug", NOW - 1)


def seen(state: RunState, told: TorchDebugReading | None = FOUND, health: SourceHealth = WELL) -> Snapshot:
    return take_snapshot(replace(state, torch_debug=told, health={**state.health, "torchdebug": health}), SPEC, NOW)


def test_a_run_that_is_not_quiet_is_never_asked() -> None:
    assert debug_request(seen(four(LOCK, silence_s=5))) is None
    assert debug_request(seen(four(LOCK))) is not None
    assert debug_request(seen(four(LOCK), told=None)) is None, "it has no servers"


def test_stacks_are_asked_only_of_ranks_that_nobody_else_reads() -> None:
    state = four(LOCK)
    partly = tuple(replace(look, stacks=look.stacks[1:]) for look in state.looks)
    ask = debug_request(seen(replace(state, looks=partly)))
    assert ask is not None
    assert [(known.pid, known.seen) for known in ask.known] == [(100, False), (101, True), (102, True), (103, True)]
    again = debug_request(seen(state, told=replace(ANSWERED, at=NOW - 60, pids=(100,))))
    assert again is not None
    assert not again.known[0].seen, "its stacks came from the servers before"


def test_an_answer_is_not_asked_for_again_at_once() -> None:
    assert debug_request(seen(four(LOCK), told=ANSWERED)) is None
    assert debug_request(seen(four(LOCK), told=replace(ANSWERED, at=NOW - 60))) is not None


def test_a_verdict_waits_for_the_answer_only_while_one_can_come() -> None:
    state = four(LOCK)
    assert debug_to_come(seen(state))
    assert not satisfied(seen(state))
    assert satisfied(seen(state, told=ANSWERED))
    assert satisfied(seen(state, health=SourceHealth("torchdebug", absent="none")))
    unseen = replace(state, health={**state.health, "procs": SourceHealth("procs", problem="no /proc")})
    assert not debug_to_come(seen(unseen, told=None)), "nobody will tell which processes may have servers"
    assert satisfied(seen(state, health=SourceHealth("torchdebug", NOW, busy_s=90.0, deadline_s=16.0)))


def test_stacks_of_the_servers_are_looked_at_twice() -> None:
    state = four(LOCK)
    given = replace(ANSWERED, pids=(100, 101, 102, 103))
    assert debug_to_come(seen(replace(state, looks=state.looks[:1]), told=given))
    assert not debug_to_come(seen(state, told=given))
