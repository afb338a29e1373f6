"""A plan waits until each GPU has told once who is on it."""

from __future__ import annotations

import pytest

from hangtop.cli.commands.action import GPUS_S, _known
from hangtop.records.gpu import Gpu, GpuReading
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading
from hangtop.state.run_state import RunState, fold


@pytest.mark.parametrize(
    ("status", "waited_s", "known"), [("ok", 0.0, True), ("reading", 0.0, False), ("reading", GPUS_S + 1, True)]
)
def test_a_gpu_of_which_nothing_was_read_is_waited_for(status: str, waited_s: float, known: bool) -> None:
    state = fold(RunState(), Reading("gpu", "n1", 1.0, GpuReading(gpus=(Gpu(0, status="ok"), Gpu(1, status=status)))))
    state = fold(state, Reading("probe", "n1", 1.0, Heartbeat((SourceHealth("gpu", 1.0),))))
    assert _known("gpus", state, waited_s) is known
