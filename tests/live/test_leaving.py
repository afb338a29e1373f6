"""hangtop leaves a run that it started only when asked, and then at once, whatever is stuck. In a real terminal."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from hangtop.system.stores import launch_store
from tests.fakes.screen_terminal import Terminal, children, quits_at_once
from tests.fakes.started import end_run, lives

PROGRAM = "import time; print('step: 1 loss: 1.9', flush=True); time.sleep(600)"


@pytest.mark.parametrize("hurt", [0, signal.SIGSTOP, signal.SIGKILL])
def test_the_question_and_the_way_out_of_it_wait_for_nobody(monkeypatch, tmp_path: Path, hurt: int):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    log = tmp_path / "train.log"
    command = (sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off", "--", sys.executable, "-c", PROGRAM)
    known = None
    try:
        with Terminal(*command) as terminal:
            terminal.comes(b"loss: 1.9")
            known = launch_store.latest(str(log))
            for probe in children(terminal.process.pid) if hurt else []:
                os.kill(probe, hurt)
            terminal.read(0.5)
            terminal.press(b"q")
            terminal.comes(b"Leave it running")
            quits_at_once(terminal)
            terminal.read(0.5)
            assert b"the run goes on as pid" in terminal.output
        assert known is not None
        assert lives(known)
    finally:
        if known is not None:
            end_run(known)
