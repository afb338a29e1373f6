"""`hangtop picture`: the screen of this moment as a file, for a notice or a report."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TextIO

from textual.pilot import Pilot

from hangtop.feeds.probe_feed import Feed
from hangtop.feeds.redacted import RedactedFeed
from hangtop.monitor.headless import settled
from hangtop.monitor.stack_requests import satisfied
from hangtop.records.watch_spec import WatchSpec
from hangtop.tui.app import HangtopApp
from hangtop.tui.picture import cells, png, svg

SIZE = (120, 40)
PATIENCE_S = 30.0
"""A screen that is not complete by then is painted as it is."""
LOOK_S = 0.25


def run(feed: Feed, spec: WatchSpec, place: Path, out: TextIO) -> int:
    """Write the picture, without secrets, for it goes to others. Exit code 0, or 1 with one line."""
    painted: list[str] = []

    async def take(pilot: Pilot[object]) -> None:
        assert isinstance(app, HangtopApp)
        for _ in range(round(PATIENCE_S / LOOK_S)):
            if _is_complete(app):
                break
            await asyncio.sleep(LOOK_S)
        app.tick()
        await pilot.pause()
        painted.append(svg(cells(app, SIZE[1]), app, SIZE))
        app.action_leave()

    app = HangtopApp(spec, RedactedFeed(feed), calm=True, read_only=True, ascii_only=False)
    app.run(headless=True, size=SIZE, auto_pilot=take)
    if not painted:
        out.write("hangtop picture: the screen could not be painted\n")
        return 1
    if place.suffix != ".png":
        place.write_text(painted[0])
    elif not png(painted[0], place):
        out.write(
            f"hangtop picture: a PNG needs resvg-py: pip install 'hangtop[notify]'; or name it {place.with_suffix('.svg')}\n"
        )
        return 1
    return 0


def _is_complete(app: HangtopApp) -> bool:
    if not settled(app.state) or app.state.log is None:
        return False
    return app.monitor.stands and satisfied(app.monitor.look(app.state, app.now()))
