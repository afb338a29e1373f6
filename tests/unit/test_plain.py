"""Plain output: one line per change, and none for what was said."""

from __future__ import annotations

from hangtop.commands.plain import Said, changes
from hangtop.model import RunState
from hangtop.records.log import LogReading
from hangtop.records.verdict import Culprit, Verdict

STATE = RunState(log=LogReading(files=()))


def said_of(said: Said, *behind: int, steps: int = 2) -> list[str]:
    culprits = tuple(Culprit(rank, None, None, "possible", (f"{steps} steps behind its peers",)) for rank in behind)
    verdict = Verdict(word="running", headline="Running as before.", refute="", culprits=culprits)
    return [line.split("  ", 1)[1] for line in changes(said, STATE, verdict, 0.0)]


def test_a_laggard_of_a_healthy_run_is_named_once_and_again_when_it_fell_back_anew() -> None:
    said = Said(headline="Running as before.")
    assert said_of(said, 3) == ["behind   rank 3: 2 steps behind its peers"]
    assert said_of(said, 3, steps=5) == []
    assert said_of(said, 3, 7) == ["behind   rank 7: 2 steps behind its peers"]
    assert said_of(said, 7) == []
    assert said_of(said) == []
    assert said_of(said, 3) == ["behind   rank 3: 2 steps behind its peers"]
