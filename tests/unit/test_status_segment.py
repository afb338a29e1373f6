"""`hangtop status`: what a running hangtop has told, in one short line that no foreign text can break out of."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from hangtop.cli.commands import status
from hangtop.common import clock
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.monitor.told_state import FRESH_S, StateTeller, ToldState, told_state, told_states
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.status_segment import for_tmux, segment
from tests.fakes.views import plain, view_of

HUNG = ToldState(1000.0, ("/run/train.log",), "train.log", "hung", "Rank 3 …", "nccl", silence_s=150.0, step=120, total=400)
CALM = ToldState(1000.0, ("/run/other.log",), "other.log", "running", "on its way", silence_s=2.0)


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def test_what_a_hangtop_says_is_read_by_another_process_and_gone_when_it_ends(runtime: Path) -> None:
    view = view_of("fleet_hung")
    case = take_snapshot(view.state, replace(view.spec, logs=("train.log",)), view.now)
    teller = StateTeller()
    teller.look(case, view.verdict)
    told = list(told_states(view.now + 1))
    assert told == [told_state(case, view.verdict)]
    assert (told[0].word, told[0].logs) == ("hung", (os.path.abspath("train.log"),))
    assert not list(told_states(view.now + FRESH_S + 1)), "its writer is gone, or stands"
    assert all(path.stat().st_mode & 0o077 == 0 for path in runtime.rglob("*"))
    teller.close()
    assert not list(told_states(view.now + 1))


def test_a_run_that_stands_still_is_told_every_five_seconds(runtime: Path) -> None:
    view = view_of("fleet_hung")
    teller, written = StateTeller(), []
    for second in range(12):
        case = take_snapshot(view.state, view.spec, view.now + second)
        teller.look(case, replace(view.verdict, silence_s=100.0 + second))
        written.append(next(iter(told_states(view.now + second))).at - view.now)
    assert sorted(set(written)) == [0, 5, 10]


def test_a_folder_that_is_not_ours_is_given_up(runtime: Path) -> None:
    (runtime / f"hangtop-{os.getuid()}").symlink_to("/tmp")
    view = view_of("fleet_hung")
    teller = StateTeller()
    teller.look(take_snapshot(view.state, view.spec, view.now), view.verdict)
    assert "another user" in (teller.problem or "")


def test_the_gravest_run_is_told_and_how_many_others_there_are() -> None:
    assert plain(segment((CALM, HUNG), 1001.0)) == "■ HUNG 2:31 train.log 120/400 +1"
    assert plain(segment((CALM,), 1001.0)) == "● RUNNING other.log"
    assert segment((), 0.0) == ()


def test_foreign_text_is_no_style_and_no_command_of_tmux() -> None:
    odd = replace(HUNG, title="#(rm x)#[fg=blue]\x1b[31m", step=None)
    said = for_tmux(segment((odd,), 1001.0))
    assert said.startswith("#[fg=red,bold,reverse]■ HUNG 2:31#[default] ")
    assert "#(" not in said
    assert "#[fg=blue" not in said
    assert "\x1b" not in said
    assert "#[fg=" not in for_tmux(segment((odd,), 1001.0), colour=False)


def test_nobody_who_watches_is_an_empty_segment_and_a_sentence_in_a_shell(runtime: Path) -> None:
    spec, out = WatchSpec(), io.StringIO()
    assert status.run(spec, lambda: pytest.fail("no run is named"), out, tmux=True) == 4
    assert out.getvalue() == "\n"
    assert status.run(spec, lambda: pytest.fail("no run is named"), out, tmux=False) == 4
    assert "give --log PATH" in out.getvalue()


def test_all_that_is_said_is_told_as_json(runtime: Path) -> None:
    view, out = view_of("fleet_hung"), io.StringIO()
    assert status.run(WatchSpec(), lambda: pytest.fail("no run is named"), out, tmux=False, as_json=True) == 4
    assert json.loads(out.getvalue()) == {"schema": 1, "runs": []}
    teller, out = StateTeller(), io.StringIO()
    teller.look(take_snapshot(view.state, view.spec, clock.now()), view.verdict)
    assert status.run(WatchSpec(), lambda: pytest.fail("no run is named"), out, tmux=False, as_json=True) == 1
    (run,) = json.loads(out.getvalue())["runs"]
    assert (run["word"], run["headline"], run["title"]) == ("hung", view.verdict.headline, "train.log")
