"""A process that does not tell yet what it holds: how long it is asked again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pytest

from hangtop.probe.leftovers import open_handles
from hangtop.probe.leftovers.open_handles import Holds
from hangtop.system.guard import Guard
from hangtop.system.processes.table import ProcessTable, Stat

PID, LOOKS = 4711, 5


class Late(Guard[int, Holds]):
    """It tells nothing at the first looks, as a process that has let go of its memory and is not gone yet."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def ask(self, questions: Mapping[int, Callable[[], Holds]]) -> dict[int, Holds | OSError]:
        self.looks += 1
        return dict.fromkeys(questions, Holds() if self.looks >= LOOKS else ProcessLookupError())


class Table(ProcessTable):
    def __init__(self, state: str) -> None:
        self._stats = {PID: Stat(PID, "python", state, 1, PID, PID, 100)}

    @property
    def stats(self) -> Mapping[int, Stat]:
        return self._stats

    def refresh(self, watched: Collection[int] = ()) -> None:
        """Nothing changes."""


@pytest.mark.parametrize(("state", "answers"), [("R", True), ("D", False), ("S", False)])
def test_one_that_only_lacks_a_processor_is_waited_for_longer(monkeypatch: pytest.MonkeyPatch, state: str, answers: bool) -> None:
    monkeypatch.setattr(open_handles, "LATE_S", 0.0)
    monkeypatch.setattr(open_handles, "PATIENCE_S", 0.0)
    assert (PID in open_handles._asked(Table(state), [PID], ("/tmp/",), Late())) is answers
