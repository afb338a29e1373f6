"""The widget that paints rows, and the compositor that sends only changed cells of it to the terminal.

Textual 8.2 cuts an update at its right end but not at its left ("TODO: crop to x extents" in `ChopsUpdate`): a clock at the
end of a line rewrites the whole line each second, 1,100 B/s instead of 105. This uses three of its private classes, so the
version is bounded in pyproject.toml and `tests/live/test_terminal.py` measures the outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice, takewhile, zip_longest
from typing import TYPE_CHECKING, Protocol, cast

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate
from textual.events import MouseScrollDown, MouseScrollUp
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from hangtop.common.text import ascii_only, printable
from hangtop.render.spans import BLANK, Row, Span, width_of

if TYPE_CHECKING:
    from hangtop.render.view import View
    from hangtop.tui.shell import Shell
    from hangtop.tui.themes import Palette

WHEEL_ROWS = 3
GAP_CELLS = 8
"""Equal cells of one style between two changed ones are rewritten too, up to so many: moving the cursor costs as much."""


class Painter(Protocol):
    """What the app of painted rows offers: the colours of the theme, and whether the terminal shows only ASCII."""

    palette: Palette
    ascii: bool


class PaintedRows(Widget):
    """A widget of rows. `paint` repaints only the cells that changed."""

    DEFAULT_CSS = "PaintedRows { height: 1; width: 1fr; }"
    ALLOW_SELECT = False

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._rows: tuple[Row, ...] = ()
        self._strips: dict[int, Strip] = {}
        self._styles: dict[str, Style] = {}
        self._painted_at = Size()

    @property
    def painter(self) -> Painter:
        return cast("Painter", self.app)

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows

    def paint(self, rows: Sequence[Row]) -> None:
        """Show these rows; only cells that differ from the painted ones are repainted."""
        if (size := self.size) != self._painted_at:
            self.forget()
            self._painted_at = size
        old, self._rows = self._rows, tuple(rows)
        changed: list[Region] = []
        for y, (before, after) in enumerate(zip_longest(old, self._rows, fillvalue=BLANK)):
            if before != after:
                strip = self._strips.pop(y, None)
                stretches = [(0, size.width)] if strip is None else _changed(strip, self._strip(y))
                changed += [Region(first, y, end - first, 1) for first, end in stretches]
        if changed:
            self._set_dirty(*changed)
            self.screen._dirty_widgets.add(self)  # what `refresh` leads to, without the two messages in between
            self.screen.check_idle()

    def forget(self) -> None:
        """Repaint everything, after a change of theme or size."""
        self._rows = ()
        self._forget_looks()
        self.refresh()

    def notify_style_update(self) -> None:
        self._forget_looks()
        super().notify_style_update()

    def _forget_looks(self) -> None:
        self._strips.clear()
        self._styles.clear()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self._rows))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Without Textual's look-up of border, outline, hatch and opacity for each line, a fifth of what an idle screen costs: a
        row widget has none of them."""
        width = self.size.width
        strips = [self._strip(y) for y in crop.line_range]
        if width != self._painted_at.width:
            strips = [strip.adjust_cell_length(width, self._style("")) for strip in strips]
        return strips if crop.column_span == (0, width) else [strip.crop(*crop.column_span) for strip in strips]

    def stretch(self, y: int, first: int, end: int) -> Iterable[Segment]:
        """These cells of a row, as segments."""
        found: list[Segment] = []
        at = 0
        for segment in self._strip(y):
            if at >= end:
                break
            text, style, _ = segment
            cells = cell_len(text)
            if cells != len(text):  # a character may be cut in two
                return self._strip(y).crop(first, end)
            if first < at + cells:
                inside = first <= at and at + cells <= end
                found.append(segment if inside else Segment(text[max(0, first - at) : end - at], style))
            at += cells
        return found

    def text(self) -> str:
        return "\n".join("".join(text for text, _ in row).rstrip() for row in self._rows)

    def _strip(self, y: int) -> Strip:
        """Row `y` as a strip as wide as the widget."""
        if (known := self._strips.get(y)) is not None:
            return known
        row = self._rows[y] if y < len(self._rows) else BLANK
        plain = ascii_only if self.painter.ascii else printable
        segments = [Segment(plain(text), self._style(role)) for text, role in _merged(row)]
        width = self._painted_at.width
        if (blank := width - width_of(row)) > 0:
            segments.append(Segment(" " * blank, self._style("")))
        self._strips[y] = strip = Strip(segments, width) if blank >= 0 else Strip(segments).crop(0, width)
        return strip

    def _style(self, role: str) -> Style:
        """The style of a role on this widget's background, with the terminal's colours."""
        if (known := self._styles.get(role)) is not None:
            return known
        shown = [Segment(" ", self.rich_style + (self.painter.palette.style(role) if role else Style.null()))]
        for line_filter in self.get_line_filters():
            shown = line_filter.apply(shown, self.background_colors[1])
        self._styles[role] = style = shown[0].style or Style.null()
        return style


class RowWidget(PaintedRows):
    """A part of a screen that follows the run: it paints each view of it."""

    @property
    def hangtop(self) -> Shell:
        return cast("Shell", self.app)

    def show(self, view: View) -> None:
        raise NotImplementedError

    def told(self, x: int, y: int) -> str:
        """A word on what is under the mouse at this cell of the widget; empty where the cell says all."""
        return ""

    def on_resize(self) -> None:
        self.show(self.hangtop.view)


class HintLine(RowWidget):
    """A line that tells what is under the mouse, and is something else while nothing is to be told."""


class Wheel:
    """What the mouse wheel scrolls."""

    def wheel(self, rows: int) -> None:
        """Scroll down by so many rows, up if negative."""
        raise NotImplementedError

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        event.stop()
        self.wheel(WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        event.stop()
        self.wheel(-WHEEL_ROWS)


def _merged(row: Row) -> list[Span]:
    """The row in few spans, since each costs 20 bytes. Blanks take the style before them, unless filled."""
    spans: list[Span] = []
    for text, role in row:
        if spans and text and (role == spans[-1][1] or (text.isspace() and not _filled(role) and not _filled(spans[-1][1]))):
            spans[-1] = (spans[-1][0] + text, spans[-1][1])
        elif text:
            spans.append((text, role))
    return spans


def _filled(role: str) -> bool:
    return "reverse" in role or "underline" in role


def _changed(before: Strip, after: Strip) -> list[tuple[int, int]]:
    """(first, end) of each stretch of changed cells; short gaps are part of a stretch."""
    stretches: list[tuple[int, int]] = []
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    olds, news = list(before)[alike:], list(after)[alike:]
    while olds and news and olds[-1] == news[-1]:
        olds, news = olds[:-1], news[:-1]
    begin = sum(cell_len(segment.text) for segment in islice(before, alike))
    cells = _cells(news)
    for at, (old, new) in enumerate(zip_longest(_cells(olds), cells, fillvalue=(" ", None)), begin):
        if old == new:
            continue
        end = stretches[-1][1] if stretches else -GAP_CELLS
        if at == end or (at - end < GAP_CELLS and len({style for _, style in cells[end - 1 - begin : at + 1 - begin]}) == 1):
            stretches[-1] = (stretches[-1][0], at + 1)  # texts of other styles would be written apart (`SpanUpdate`)
        else:
            stretches.append((at, at + 1))
    return stretches


def _cells(segments: Iterable[Segment]) -> list[tuple[str, Style | None]]:
    """One entry for each screen cell; a wide character is in two."""
    cells: list[tuple[str, Style | None]] = []
    for text, style, _ in segments:
        if text.isascii():
            cells += [(char, style) for char in text]
        else:
            for char in text:
                cells += [(char, style)] * cell_len(char)
    return cells


Look = tuple[str, str, str]
"""SGR parameters of attributes, colour and background."""
PLAIN: Look = ("", "", "")


class StyleWriter:
    """Writes styled text to the terminal, and changes only the parts of the style that differ: the style of a short word takes 40
    bytes, and most words share the background of the one before."""

    def __init__(self) -> None:
        self._look = PLAIN
        self._place = (-1, -1)

    def write(self, look: Look, y: int, x: int, text: str) -> str:
        move = self._move(y, x)
        self._place = (y, x + cell_len(text))
        return f"{move}{self._change(look)}{text}"

    def _move(self, y: int, x: int) -> str:
        if self._place == (y, x):
            return ""
        return f"\x1b[{x + 1}G" if self._place[0] == y else f"\x1b[{y + 1};{x + 1}H"

    def lift(self) -> str:
        """Back to the default style."""
        return self._change(PLAIN)

    def _change(self, look: Look) -> str:
        before, self._look = self._look, look
        if look == before:
            return ""
        plain = look[0] != before[0] or any(old and not new for old, new in zip(before, look, strict=True))
        parts = ("0", *look) if plain else tuple(new for old, new in zip(before, look, strict=True) if old != new)
        return f"\x1b[{';'.join(filter(None, parts))}m"


@lru_cache(maxsize=1024)
def look_of(style: Style, system: ColorSystem) -> Look:
    bare = style.without_color.render("x", color_system=system)
    attributes = bare[2 : bare.index("m")] if bare.startswith("\x1b[") else ""
    colour = ";".join(style.color.downgrade(system).get_ansi_codes()) if style.color else ""
    background = ";".join(style.bgcolor.downgrade(system).get_ansi_codes(foreground=False)) if style.bgcolor else ""
    return attributes, colour, background


Stretch = tuple[int, int, Iterable[Segment]]
"""Line, first cell, what to write there."""


class SpanUpdate(CompositorUpdate):
    """Writes only these stretches, equal styles together: a colour costs twice as much as moving the cursor."""

    def __init__(self, stretches: Iterable[Stretch]) -> None:
        self._stretches = stretches

    def render_segments(self, console: Console) -> str:
        pieces: list[tuple[Look, int, int, str]] = []
        system = console._color_system or ColorSystem.STANDARD
        for y, x, segments in self._stretches:
            for text, style, _ in segments:
                pieces.append((look_of(style or Style.null(), system), y, x, text))
                x += cell_len(text)
        pen = StyleWriter()
        written = [pen.write(*piece) for piece in sorted(pieces)]
        return "".join((*written, pen.lift()))


class SpanCompositor(Compositor):
    """A compositor whose partial updates are `SpanUpdate`s, made for row widgets without looking at any other widget."""

    def render_partial_update(self) -> SpanUpdate | None:  # type: ignore[override]
        found = [self._of_line_view(region) for region in self._dirty_regions]
        spans = [span for each in found for span in each or ()]
        if all(each is not None for each in found):
            self._dirty_regions.clear()
            return SpanUpdate(spans) if spans else None
        update = super().render_partial_update()
        return None if update is None else SpanUpdate(_cropped(update))

    def _of_line_view(self, region: Region) -> list[Stretch] | None:
        """The stretches of this region; `None` if it is not part of a single row widget."""
        left, top, width, height = region
        right, bottom = left + width, top + height
        for widget, (place, clip) in self.visible_widgets.items():  # the topmost first
            x, y, wide, tall = place
            if x < right and left < x + wide and y < bottom and top < y + tall:
                alone = x <= left and right <= x + wide and y <= top and bottom <= y + tall and clip.contains_region(region)
                if not (alone and isinstance(widget, PaintedRows)):
                    return None
                return [(line, left, widget.stretch(line - y, left - x, right - x)) for line in range(top, bottom)]
        return None


def _cropped(update: ChopsUpdate) -> Iterable[Stretch]:
    for y, x1, x2 in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=True):
            if strip is not None and x < x2 and end > x1:
                start = max(x, x1)
                yield y, start, strip.crop(start - x, min(end, x2) - x)
