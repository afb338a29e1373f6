"""Every benchmark can be started, though no test waits for its numbers: mypy checks that each call in it still fits."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import signature

import pytest

from tests.bench import processes_pane
from tests.bench.__main__ import BENCHES
from tests.bench.options import Options
from tests.bench.row import Row


def test_every_benchmark_makes_rows_from_the_same_options() -> None:
    benches = [import_module(f"tests.bench.{module}").rows for module in BENCHES.values()]
    assert [list(signature(rows).parameters) for rows in benches] == [["options"]] * len(BENCHES)


def test_a_benchmark_says_what_it_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes_pane, "ROUNDS", 1)
    monkeypatch.setattr(processes_pane, "SIZES", {"3 processes": (1, 1, 1)})
    rows: Iterator[Row] = processes_pane.rows(Options())
    assert [row.what for row in rows] == [f"3 processes: {how}" for how in ("its tree", "unfolded", "sorted by CPU", "filtered")]
