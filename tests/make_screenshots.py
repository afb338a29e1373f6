"""Makes screenshots/*.svg and *.png from tests/recordings: `python tests/make_screenshots.py [NAME …]`. Never edited by hand.

The PNGs need resvg_py (`pip install resvg-py`) or rsvg-convert; without either only the SVGs are made.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from msgspec.structs import replace  # noqa: E402
from rich.cells import cell_len  # noqa: E402
from rich.color import Color  # noqa: E402
from rich.style import Style  # noqa: E402
from rich.terminal_theme import TerminalTheme  # noqa: E402

from hangtop.records.ask import Ask, StacksAsk  # noqa: E402
from hangtop.records.plan import OwnProcess  # noqa: E402
from hangtop.records.reading import Reading  # noqa: E402
from hangtop.records.stack import StacksReading  # noqa: E402
from hangtop.tui import open_action  # noqa: E402
from hangtop.tui.app import HangtopApp  # noqa: E402
from tests.app.play import Clock, MemoryFeed, session, settle  # noqa: E402

OUT = HERE.parent / "screenshots"
CELL_W, CELL_H, MARGIN, FONT = 9.6, 20, 12, 16
FONTS = "'DejaVu Sans Mono','JetBrains Mono',Menlo,Consolas,monospace"
TERMINAL = TerminalTheme(
    (27, 31, 36),
    (201, 209, 217),
    [
        (72, 79, 88),
        (255, 123, 114),
        (86, 168, 96),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 176, 184),
        (177, 186, 196),
    ],
    [
        (110, 118, 129),
        (255, 123, 114),
        (86, 211, 100),
        (227, 179, 65),
        (121, 192, 255),
        (210, 168, 255),
        (86, 212, 221),
        (240, 246, 252),
    ],
)
"""What a terminal of its own 16 colours looks like, for the ansi theme."""


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


async def cells_of(shot: Shot) -> tuple[HangtopApp, list[list[tuple[str, Style]]]]:
    """The painted screen, one (character, style) a cell."""
    spec, readings, at = session(shot.recording)
    feed, clock = AnsweringFeed(readings), Clock(at)
    app = HangtopApp(spec, feed, now=clock, theme=shot.theme, calm=True, ascii_only=shot.ascii_only)
    async with app.run_test(size=shot.size) as pilot:
        await settle(pilot, app)
        await pilot.press(*shot.keys)
        await settle(pilot, app)
        _width, height = shot.size
        widget_lines = app.screen._compositor.render_strips()
        filters = app.get_line_filters()
        background = app.screen.background_colors[1]
        lines = []
        for strip in widget_lines[:height]:
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            lines.append([(char, style or Style.null()) for text, style, _ in strip for char in text])
    return app, lines


def colours(style: Style, app: HangtopApp) -> tuple[str, str | None]:
    """Ink and fill as `#rrggbb`; no fill where it is the terminal's own ground."""
    ground = TERMINAL.background_color.hex if app.palette.ansi else app.palette.background

    def shown(colour: Color | None, *, front: bool) -> str:
        if colour is None or colour.is_default:
            return (TERMINAL.foreground_color.hex if app.palette.ansi else app.palette.ink) if front else ground
        return colour.get_truecolor(TERMINAL, foreground=front).hex

    front, back = shown(style.color, front=True), shown(style.bgcolor, front=False)
    if style.dim:
        front = mixed(front, back, 0.6)
    if style.reverse:
        front, back = back, front
    return front, None if back == ground else back


def mixed(front: str, back: str, part: float) -> str:
    pairs = ((int(front[i : i + 2], 16), int(back[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(f * part + b * (1 - part)):02x}" for f, b in pairs)


def svg(lines: list[list[tuple[str, Style]]], app: HangtopApp, size: tuple[int, int]) -> str:
    """A picture of the cells: bars, rules and blocks as shapes, so that they join as in a terminal."""
    width, height = round(size[0] * CELL_W + 2 * MARGIN), size[1] * CELL_H + 2 * MARGIN
    ground = TERMINAL.background_color.hex if app.palette.ansi else app.palette.background
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<rect width="100%" height="100%" fill="{ground}"/>',
        f'<g transform="translate({MARGIN},{MARGIN})" font-family="{FONTS}" font-size="{FONT}" xml:space="preserve">',
    ]
    for y, line in enumerate(lines):
        parts += _row(line, y * CELL_H, app)
    return "\n".join([*parts, "</g></svg>\n"])


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height}" fill="{colour}" shape-rendering="crispEdges"/>'


def _word(text: str, x: float, y: float, colour: str, weight: str) -> str:
    return f'<text x="{x:.1f}" y="{y + 15.2:.1f}" fill="{colour}"{weight}>{escape(text)}</text>'


def _row(line: list[tuple[str, Style]], y: int, app: HangtopApp) -> list[str]:
    """Fills below, shapes and words over them; a word is a run of ASCII in one style, so that columns stay put in any font."""
    fills: list[str] = []
    over: list[str] = []
    x, run, run_x, run_look = 0.0, "", 0.0, ("", "")
    for char, style in [*line, (" ", Style.null())]:
        front, back = colours(style, app)
        look = (front, ' font-weight="700"' if style.bold else "")
        shape = _shape(char, x, y, front)
        if run and (char == " " or shape or look != run_look or not (char + run).isascii()):
            over.append(_word(run, run_x, y, *run_look))
            run = ""
        wide = cell_len(char) * CELL_W
        if back:
            fills.append(_box(x, y, wide, CELL_H, back))
        if shape:
            over.append(shape)
        elif char != " ":
            run, run_x, run_look = (run + char, run_x, run_look) if run else (char, x, look)
        x += wide
    return [*fills, *over]


def _shape(char: str, x: float, y: float, colour: str) -> str | None:
    lines = {"━": (8.5, 1, 3), "╸": (8.5, 0.5, 3), "─": (9.5, 1, 1), "▌": (0, 0.5, CELL_H), "▏": (0, 0.15, CELL_H)}
    if char in "▁▂▃▄▅▆▇█":
        tall = 2.5 * ("▁▂▃▄▅▆▇█".index(char) + 1)
        return _box(x, y + CELL_H - tall, CELL_W + 0.05, tall, colour)
    if char not in lines:
        return None
    top, part, tall = lines[char]
    return _box(x, y + top, part * CELL_W + 0.05, tall, colour)


def make_png(path: Path) -> bool:
    try:
        import resvg_py
    except ImportError:
        if not shutil.which("rsvg-convert"):
            return False
        subprocess.run(["rsvg-convert", "--zoom", "1.4", "-o", str(path.with_suffix(".png")), str(path)], check=True)
        return True
    picture = resvg_py.svg_to_bytes(svg_string=path.read_text(), zoom=1, width=None)
    path.with_suffix(".png").write_bytes(bytes(picture))
    return True


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
        path.write_text(svg(lines, app, shot.size))
        print(path.name, "and .png" if make_png(path) else "(no PNG: pip install resvg-py)")


if __name__ == "__main__":
    main(sys.argv[1:])
