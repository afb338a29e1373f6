"""Log files are asked as they lie on disk: what is told, written or drawn of them has no secrets all the same."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from hangtop.cli.commands import diff, init, query, timeline
from hangtop.cli.commands.init import Answers
from hangtop.cli.commands.query import Wanted
from tests.planted.plant import Planted, planted

duckdb = pytest.importorskip("duckdb")
PLANTED = [each for each in planted(1, 17) if not each.kind.startswith(("environment", "options"))]


def left_in(text: str) -> set[str]:
    everything: list[Planted] = PLANTED
    return {each.kind for each in everything if any(secret in text for secret in each.secrets)}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With each of them, and some in messages that are known."""
    path = tmp_path_factory.mktemp("logs") / "train.log"
    path.write_text(
        "".join(
            f"{each.text}\n2026-01-11 10:{step // 60 % 60:02}:{step % 60:02} step {step}/999 loss={step}.5\n"
            f"{'RuntimeError: CUDA error: ' + each.text if step % 9 == 0 else ''}\n"
            for step, each in enumerate(PLANTED, 1)
        )
    )
    return path


def test_an_answer_has_none(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer"
    assert query.run([str(log), "SELECT text FROM lines"], Wanted(wanted="csv", output=out), None) == 0
    assert left_in(out.read_text()) == set()
    assert "loss=9.5" in out.read_text()


def test_nor_has_what_is_exported(log: Path, tmp_path: Path) -> None:
    assert (
        query.run([str(log), "SELECT text, 1 AS n FROM lines"], Wanted(wanted="parquet", output=tmp_path / "a.parquet"), None)
        == 0
    )
    assert query.export([log], tmp_path / "all") == 0
    for path in (tmp_path / "a.parquet", *(tmp_path / "all").glob("*.parquet")):
        assert left_in(str(duckdb.sql(f"SELECT * FROM '{path}'").fetchall())) == set(), path.name
    assert duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/a.parquet' WHERE text LIKE '%loss=9.5%'").fetchall() == [(1,)]


def test_nor_a_comparison_nor_a_picture(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = tmp_path / "good.log"
    good.write_text("".join(f"2026-01-11 10:00:{step:02} step {step}/999 loss=1.5\n" for step in range(40)))
    diff.run(good, log, as_json=False)
    diff.run(good, log, as_json=True)
    assert timeline.run(log, tmp_path / "run.svg", "dark") == 0
    assert timeline.run(log, None, "dark") == 0
    assert left_in(capsys.readouterr().out) == set()
    assert left_in((tmp_path / "run.svg").read_text()) == set()


def test_nor_a_profile_that_is_made_of_it(log: Path, tmp_path: Path) -> None:
    out, profile = io.StringIO(), tmp_path / "p.toml"
    given = Answers(step="loss=", stages=("dataset=password: ",), name="mine")
    assert init.run(log, profile, given, out, None) == 0, out.getvalue()
    assert "[redacted]" in profile.read_text()
    assert left_in(out.getvalue() + profile.read_text()) == set()
