"""Real programs that stand: the remedy under their verdict, done as it is printed, lets them go on. The gate plays a few; all of
them: `python -m tests.scenarios.remedies`."""

from __future__ import annotations

from pathlib import Path

import pytest

from hangtop.remedies.catalogue import places
from tests.scenarios.remedies.play import play, stands

STANDS = {stand.name: stand for stand in stands()}


@pytest.mark.side_by_side
@pytest.mark.xdist_group("remedies")
@pytest.mark.parametrize("name", [name for name, stand in STANDS.items() if stand.gate])
def test_what_is_advised_lets_it_go_on(name: str, tmp_path: Path) -> None:
    play(STANDS[name], tmp_path)


def test_each_of_them_names_a_place_and_a_remedy_of_the_catalogue() -> None:
    assert len(STANDS) == len(stands())
    for stand in STANDS.values():
        said = [f"{do.text}: {do.set}" for cause in places()[stand.place].cause for do in cause.do]
        assert any(text.startswith(stand.remedy) for text in said), stand.name
