"""The screen under test stands still before it is looked at, and each test has an action log of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.play import at_rest
from tests.fakes.processes import PATIENCE_S


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual takes the app for idle when it used no CPU for 20 ms: so it is as well where the machine had no core for it."""
    for user in ("textual.pilot", "textual.app"):
        monkeypatch.setattr(f"{user}.wait_for_idle", at_rest)


@pytest.fixture(autouse=True)
def own_action_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture(autouse=True)
def every_child_is_reaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who quits waits 0.2 s for a child that was told to end; a crowded machine reaps it later, and a later test would
    meet the warning."""
    monkeypatch.setattr("hangtop.system.hangtop_answer.REAP_S", PATIENCE_S)
