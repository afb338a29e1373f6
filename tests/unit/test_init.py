"""`hangtop init`: what is proposed of a log, the questions, and a profile that holds."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from hangtop.cli.commands import init
from hangtop.cli.commands.init import Answers
from hangtop.logs.catalog.load import parse_profile
from hangtop.logs.catalog.profile_draft import form_with, step_forms

LINES = [
    "reading settings from run.yaml",
    "Building corpus from 12 shards",
    "weights: restoring 7B checkpoint",
    *(f"tick {10 * i} out of 3,000 :: objective={3 - i / 20:.3f} gnorm 0.5" for i in range(1, 30)),
    "eval took 3.2 s",
]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "Mine 2.log"
    path.write_text("".join(f"2026-11-28 06:00:{i:02d},000 - INFO - {line}\n" for i, line in enumerate(LINES)))
    return path


def answered(log: Path, *answers: str, given: Answers = Answers()) -> tuple[int, str]:  # noqa: B008 - frozen
    left, out = iter(answers), io.StringIO()

    def ask(question: str) -> str:
        out.write(question)
        return next(left)

    return init.run(log, None, given, out, ask), out.getvalue()


def test_lines_of_one_shape_in_which_a_number_grows_are_proposed() -> None:
    (form,) = step_forms(LINES)
    assert (form.literal, form.has_total, form.metrics) == ("tick ", True, ("objective", "gnorm"))
    assert form_with(LINES, "eval took") is None
    assert step_forms(["loss 3", "loss 2", "loss 1", "x"]) == []


def test_three_answers_make_a_profile_that_reads_the_log(log: Path, tmp_path: Path) -> None:
    code, said = answered(log, "", "dataset=2", "bogus=1", "model_load=restoring 7B", "", "")
    assert code == 0, said
    assert "reads 29 lines: step 10 to 290 of 3,000 · objective, gnorm" in said
    assert "no stage 'bogus'" in said
    profile = parse_profile((tmp_path / "config/hangtop/profiles/mine_2.toml").read_text(), "")
    assert [stage.id for stage in profile.stage] == ["dataset", "model_load", "train_loop"]
    assert [marker.literal for stage in profile.stage for marker in stage.enter] == [("Building corpus from",), ("restoring",)]
    assert profile.progress[0].metrics == {"objective": "objective", "gnorm": "gnorm"}
    again, said = answered(log, "", "", "")
    assert (again, "is there already" in said) == (2, True)


def test_the_answers_may_stand_in_the_command(log: Path, tmp_path: Path) -> None:
    out = io.StringIO()
    given = Answers("out of", ("dataset=corpus",), "mine")
    assert init.run(log, tmp_path / "p.toml", given, out, None) == 0
    assert 'name = "mine"' in (tmp_path / "p.toml").read_text()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Answers(), "run it in a terminal, or give --step TEXT and --name NAME"),
        (Answers("nowhere", (), "x"), "no lines with it hold a number that grows"),
        (Answers("tick", ("nosuch=a",), "x"), "no stage 'nosuch'"),
        (Answers("tick", ("dataset=nowhere",), "x"), "no line holds 'nowhere'"),
        (Answers("tick", (), "../x"), "holds more than letters"),
    ],
)
def test_what_cannot_be_is_one_line(log: Path, given: Answers, why: str) -> None:
    out = io.StringIO()
    assert init.run(log, None, given, out, None) == 2
    assert why in out.getvalue()
    assert out.getvalue().splitlines()[-1].startswith("hangtop init: ")
