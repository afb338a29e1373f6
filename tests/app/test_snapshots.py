"""How the screen looks, as SVG. `pytest tests/app/test_snapshots.py --snapshot-update` after looking at what changed."""

from __future__ import annotations

import pytest

from tests.app.play import app_on, settle

SHOTS = {
    "healthy-120x40": ("healthy", (120, 40), "dark", ()),
    "stalled-120x40": ("stalled", (120, 40), "dark", ()),
    "stalled-80x24-chosen": ("stalled", (80, 24), "dark", ("2", "down")),
    "stalled-ansi": ("stalled", (120, 40), "ansi", ()),
    "many-200x60": ("many", (200, 60), "dark", ()),
    "startup-light": ("startup", (120, 40), "light", ()),
    "crashed-verdict": ("crashed", (120, 40), "safe", ("1",)),
    "rank-detail": ("stalled", (100, 30), "dark", ("2", "down", "enter")),
}


@pytest.mark.parametrize("name", SHOTS)
def test_it_looks_as_it_should(name, snap_compare):
    recording, size, theme, keys = SHOTS[name]
    app, _, _ = app_on(recording, theme=theme, calm=True)

    async def ready(pilot):
        await settle(pilot, app)
        await pilot.press(*keys)
        await settle(pilot, app)

    assert snap_compare(app, terminal_size=size, run_before=ready)
