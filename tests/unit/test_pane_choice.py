"""What a person chose of the panes is kept whole, and a file that is damaged is as none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hangtop.records.watch_spec import WatchSpec
from hangtop.tui.background_work import written
from hangtop.tui.pane_choice import PaneChoice, pane_choice

SPEC = WatchSpec(logs=("/runs/a/train.log",))


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def kept() -> Path:
    path = pane_choice(SPEC).path
    assert path is not None
    return path


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b'{"hidden":["ra',
        b'{"hidden":["\xff"]}',
        b'{"lines":{"ranks":1000000000}}',
        b'{"lines":{"ranks":-3}}',
        b'{"left":1e308}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_is_as_none(damaged: bytes) -> None:
    kept().write_bytes(damaged)
    assert pane_choice(SPEC) == PaneChoice(path=kept())


def test_a_choice_replaces_the_one_before_it_and_leaves_nothing_beside_it() -> None:
    for lines in (40, 4):
        assert asyncio.run(written(kept(), PaneChoice(lines={"ranks": lines}).text)) == ""
        assert pane_choice(SPEC).lines == {"ranks": lines}
    assert [each.name for each in kept().parent.iterdir()] == [kept().name]


def test_what_cannot_be_written_is_said() -> None:
    assert "not saved" in asyncio.run(written(kept().parent / "none" / "file", "text"))
