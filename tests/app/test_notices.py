"""A notice that was not delivered is said on the screen while it is so, with what tells more."""

from __future__ import annotations

import pytest

from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading
from tests.app.play import on_screen, screen_text, settle

WHY = "not taken by address 1 (json); try hangtop notify --test json://…: Service Unavailable, error=503"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_notice_that_was_not_delivered_is_said_until_one_is(size: tuple[int, int]) -> None:
    async with on_screen("fleet_hung", size) as (app, pilot, feed, clock):
        feed.put(Reading("probe", "n1", clock.now, Heartbeat(sources=(SourceHealth("notify", problem=WHY),))))
        await settle(pilot, app)
        assert "notify  not taken by address 1 (json); try hangtop notify --test json://…" in screen_text(app)
        feed.put(Reading("probe", "n1", clock.now, Heartbeat(sources=(SourceHealth("notify", absent="well again"),))))
        await settle(pilot, app)
        assert "not taken" not in screen_text(app)
