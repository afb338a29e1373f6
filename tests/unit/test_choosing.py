"""Bare `hangtop`: what it watches where there is one run, none, and no screen."""

from __future__ import annotations

import click
import pytest

from hangtop.cli.commands import runs
from hangtop.cli.commands.watch import WatchOptions
from hangtop.records.runs import RunCandidate, RunsReading
from hangtop.records.watch_spec import WatchSpec

RUN = RunCandidate("/data/a/train.log", 7, 0.0, 0, "python train.py")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def found(monkeypatch: pytest.MonkeyPatch, *candidates: RunCandidate, note: str | None = None) -> None:
    async def find() -> RunsReading:
        return RunsReading(candidates, note)

    monkeypatch.setattr(runs, "find", find)


def test_the_only_run_is_watched_at_once(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, RUN)
    spec = runs.choose(WatchSpec(), WatchOptions())
    assert spec is not None
    assert spec.logs == (RUN.log,)


def test_without_a_run_it_says_what_to_do_and_what_it_could_not_see(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, note="3 processes of other users are not shown")
    with pytest.raises(click.UsageError, match=r"3 processes of other users.*hangtop --log"):
        runs.choose(WatchSpec(), WatchOptions())


def test_without_a_terminal_it_lists_the_runs_and_asks_for_a_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found(monkeypatch, RUN, RUN)
    with pytest.raises(click.UsageError, match="give --log PATH"):
        runs.choose(WatchSpec(), WatchOptions())
    assert RUN.log in capsys.readouterr().out
