"""A few faults of `rows.toml` in a real terminal; `python -m tests.scenarios.faults` plays all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.faults.play import Row, play, rows

SAMPLE = (
    "driver mismatch", "log with escapes", "tiny terminal", "dumb terminal, q", "home is a file",
    "few descriptors", "dashboard without end", "secret in the log",
)  # fmt: skip


@pytest.mark.parametrize("row", [row for row in rows() if row.id in SAMPLE], ids=lambda row: row.id)
def test_it_is_said_in_words_and_left_by_q(row: Row, tmp_path: Path) -> None:
    played = play(row, row.sizes[0], tmp_path)
    assert not played.wrong, played.screen


def test_every_row_is_one_of_its_kind() -> None:
    ids = [row.id for row in rows()]
    assert len(set(ids)) == len(ids)
    assert set(SAMPLE) <= set(ids)
