"""The state is folded from readings: deltas add up, a fresh log starts over, a rewind forgets."""

from __future__ import annotations

from hangtop.records.health import Heartbeat, ProbeState, Rewind, SourceHealth
from hangtop.records.log import LogLine, LogReading, RankLog
from hangtop.records.reading import Reading, Value
from hangtop.state.run_state import TAIL_LINES, RunState, fold


def after(*values: Value) -> RunState:
    state = RunState()
    for at, value in enumerate(values):
        state = fold(state, Reading("test", "n1", float(at), value))
    return state


def line(offset: int) -> LogLine:
    return LogLine(0, offset, None, None, "", f"line {offset}")


def test_ranks_and_lines_add_up() -> None:
    state = after(
        LogReading(files=(), ranks=(RankLog(0, step=1), RankLog(1, step=1)), tail=(line(0),), fresh=True),
        LogReading(files=(), ranks=(RankLog(1, step=2),), tail=(line(10),)),
    )
    assert {rank: log.step for rank, log in state.ranks.items()} == {0: 1, 1: 2}
    assert [shown.offset for shown in state.tail] == [0, 10]
    assert state.log is not None
    assert state.log.tail == state.log.ranks == ()


def test_a_fresh_reading_forgets_what_was_known_before() -> None:
    state = after(LogReading(files=(), ranks=(RankLog(7),), tail=(line(0),)), LogReading(files=(), tail=(line(5),), fresh=True))
    assert not state.ranks
    assert [shown.offset for shown in state.tail] == [5]


def test_the_tail_is_bounded_but_counted() -> None:
    batch = tuple(line(offset) for offset in range(200))
    state = after(*[LogReading(files=(), tail=batch) for _ in range(40)])
    assert len(state.tail) == TAIL_LINES
    assert state.tail_total == 8_000


def test_only_the_probe_itself_counts_as_a_sign_of_life() -> None:
    state = after(Heartbeat(sources=(SourceHealth("log", read_at=0.5),)), ProbeState(alive=False, problem="silent"))
    assert state.heard_at == 0.0
    assert state.probe is not None
    assert state.probe.problem == "silent"
    assert state.health["log"].read_at == 0.5


def test_a_rewind_forgets_everything() -> None:
    assert after(LogReading(files=(), ranks=(RankLog(0),)), Rewind()) == RunState()
