"""Makes screenshots/*.svg and *.png from tests/recordings: `python tests/make_screenshots.py [NAME …]`. Never edited by hand.

The PNGs need resvg_py (`pip install resvg-py`) or rsvg-convert; without either only the SVGs are made.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from msgspec.structs import replace  # noqa: E402

from hangtop.records.ask import Ask, StacksAsk  # noqa: E402
from hangtop.records.plan import OwnProcess  # noqa: E402
from hangtop.records.reading import Reading  # noqa: E402
from hangtop.records.stack import StacksReading  # noqa: E402
from hangtop.tui import open_action  # noqa: E402
from hangtop.tui.app import HangtopApp  # noqa: E402
from hangtop.tui.picture import Cells, cells, png, svg  # noqa: E402
from tests.app.play import Clock, MemoryFeed, session, settle  # noqa: E402

OUT = HERE.parent / "screenshots"


@dataclass(frozen=True)
class Shot:
    name: str
    recording: str
    size: tuple[int, int] = (120, 40)
    theme: str | None = None
    keys: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    ascii_only: bool = False


SHOTS = (
    Shot("hung", "fleet_hung"),
    Shot("healthy", "fleet_healthy"),
    Shot("slow", "fleet_slow"),
    Shot("driver-hung", "fleet_driver"),
    Shot("startup", "fleet_startup"),
    Shot("finished", "fleet_finished"),
    Shot("crashed", "crashed"),
    Shot("no-gpu-no-ray", "stalled"),
    Shot("256-ranks", "many", (200, 60)),
    Shot("256-ranks-120x40", "many"),
    Shot("stacks", "fleet_hung", keys=("s",)),
    Shot("rank-detail", "fleet_hung", keys=("2", "down", "enter")),
    Shot("verdict-detail", "crashed", keys=("1",)),
    Shot("confirm-stop", "fleet_hung", keys=("k",)),
    Shot("errors-only", "crashed", keys=("e",)),
    Shot("help", "fleet_hung", keys=("question_mark",)),
    Shot("hung-80x24", "fleet_hung", (80, 24), keys=("2", "down")),
    Shot("healthy-80x24", "fleet_healthy", (80, 24)),
    Shot("hung-light", "fleet_hung", theme="light"),
    Shot("healthy-light", "fleet_healthy", theme="light"),
    Shot("hung-safe", "fleet_hung", theme="safe"),
    Shot("hung-ansi", "fleet_hung", theme="ansi"),
    Shot("hung-no-color", "fleet_hung", env={"NO_COLOR": "1"}),
    Shot("hung-ascii", "fleet_hung", (80, 24), env={"NO_COLOR": "1"}, ascii_only=True, keys=("2", "down")),
)


class AnsweringFeed(MemoryFeed):
    """Who asks for stacks gets those of the recording, a moment later."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        super().__init__(readings)
        self._looks = [reading for reading in readings if isinstance(reading.value, StacksReading)]

    def ask(self, ask: Ask) -> None:
        super().ask(ask)
        if isinstance(ask, StacksAsk) and self._looks:
            last = self._looks[-1]
            self.put(replace(last, value=replace(last.value, ask=ask.ask)))


async def cells_of(shot: Shot) -> tuple[HangtopApp, Cells]:
    """The painted screen."""
    spec, readings, at = session(shot.recording)
    feed, clock = AnsweringFeed(readings), Clock(at)
    app = HangtopApp(spec, feed, now=clock, theme=shot.theme, calm=True, ascii_only=shot.ascii_only)
    async with app.run_test(size=shot.size) as pilot:
        await settle(pilot, app)
        await pilot.press(*shot.keys)
        await settle(pilot, app)
        return app, cells(app, shot.size[1])


def main(names: list[str]) -> None:
    open_action.own_process = lambda: OwnProcess(1, frozenset(), 1000, "n1")  # who runs hangtop on the machine of the recordings
    os.environ["TZ"] = "UTC"
    time.tzset()
    OUT.mkdir(exist_ok=True)
    for shot in SHOTS:
        if names and shot.name not in names:
            continue
        os.environ.pop("NO_COLOR", None)
        os.environ.update(shot.env)
        app, lines = asyncio.run(cells_of(shot))
        path = OUT / f"{shot.name}.svg"
        painted = svg(lines, app, shot.size)
        path.write_text(painted)
        print(path.name, "and .png" if png(painted, path.with_suffix(".png")) else "(no PNG: pip install resvg-py)")


if __name__ == "__main__":
    main(sys.argv[1:])
