"""A picture of the screen: SVG, and PNG where resvg-py (`pip install 'hangtop[notify]'`) or rsvg-convert is there.

Bars, rules and blocks are shapes, so that they join as in a terminal; a word is a run of ASCII in one style, so that columns stay
put in any font.
"""

from __future__ import annotations

import shutil
import subprocess
from html import escape
from pathlib import Path

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from rich.terminal_theme import TerminalTheme

from hangtop.tui.app import HangtopApp

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


Cells = list[list[tuple[str, Style]]]
"""The lines of a screen, one (character, style) a cell."""


def cells(app: HangtopApp, height: int) -> Cells:
    """The screen as it is painted."""
    filters, background = app.get_line_filters(), app.screen.background_colors[1]
    lines = []
    for strip in app.screen._compositor.render_strips()[:height]:  # Textual has no public way to the cells
        for line_filter in filters:
            strip = strip.apply_filter(line_filter, background)
        lines.append([(char, style or Style.null()) for text, style, _ in strip for char in text])
    return lines


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


def svg(lines: Cells, app: HangtopApp, size: tuple[int, int]) -> str:
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


def png(picture: str, place: Path) -> bool:
    """Write this SVG as a PNG; whether there is something that can. Raises `OSError`."""
    try:
        import resvg_py
    except ImportError:
        if not shutil.which("rsvg-convert"):
            return False
        drawn = subprocess.run(["rsvg-convert", "--zoom", "1.4"], input=picture.encode(), capture_output=True, check=False)
        place.write_bytes(drawn.stdout)
        return drawn.returncode == 0
    place.write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=picture, zoom=1, width=None)))
    return True
