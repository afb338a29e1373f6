"""What is here and is not the run's is never blamed, planned for or touched. All rows: `python -m tests.scenarios.ownership`."""

from __future__ import annotations

from functools import cache

import pytest

from tests.scenarios.ownership.case import Outcome, Row, matrix
from tests.scenarios.ownership.house import missing, outcomes

KNOWN = matrix()
GATE = tuple(row for row in KNOWN.row if row.gate)


def row_of_the_gate(row: Row) -> object:
    """A row whose room is played by one worker, once; those that are known to fail must fail.

    Rooms with Ray one after the other: a cluster wants both cores of a small machine while it starts.
    """
    group = "rooms with ray" if "ray" in KNOWN.room_of(row) else KNOWN.room_of(row)
    marks = [pytest.mark.xdist_group(group)]
    if row.miss:
        marks.append(pytest.mark.xfail(reason=row.miss, strict=True))
    return pytest.param(row, id=row.name, marks=marks)


@cache
def played(room: str) -> dict[str, Outcome]:
    """All rows that the gate plays in this room."""
    return {outcome.name: outcome for outcome in outcomes(room, [row for row in GATE if KNOWN.room_of(row) == room])}


@pytest.mark.parametrize("row", [row_of_the_gate(row) for row in GATE])
def test_nothing_of_others_is_blamed_or_touched(row: Row) -> None:
    if why := missing(KNOWN, row):
        pytest.skip(why)
    outcome = played(KNOWN.room_of(row))[row.name]
    assert not outcome.faults, "\n".join((*outcome.faults, *outcome.said))


def test_the_matrix_is_as_large_as_it_says_and_each_row_has_a_name_of_its_own() -> None:
    rows = [row for row in KNOWN.row if row.scene != "nothing"]
    assert len(rows) >= 60
    assert len({row.name for row in KNOWN.row}) == len(KNOWN.row)
    assert {row.run for row in KNOWN.row} <= set(KNOWN.run)
    assert {row.scene for row in KNOWN.row} == {scene.name for scene in KNOWN.scene}
    assert all(row.gate for row in rows if row.seen), "what people met is played every time"
