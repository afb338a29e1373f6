"""The widget that paints rows: only changed cells go to the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, takewhile, zip_longest
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.events import MouseScrollDown, MouseScrollUp
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from hangtop.common.text import ascii_only, printable
from hangtop.render.spans import BLANK, Row, Span, width_of

if TYPE_CHECKING:
    from hangtop.render.view import View
    from hangtop.tui.shell import Shell

WHEEL_ROWS = 3
GAP_CELLS = 8
"""Equal cells between two changed ones are rewritten too, up to so many: moving the cursor costs as much."""


class RowWidget(Widget):
    """A widget of rows. `paint` repaints only the cells that changed."""

    DEFAULT_CSS = "RowWidget { height: 1; width: 1fr; }"
    ALLOW_SELECT = False

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._rows: tuple[Row, ...] = ()
        self._strips: dict[int, Strip] = {}
        self._styles: dict[str, Style] = {}
        self._painted_at = Size()

    @property
    def hangtop(self) -> Shell:
        return cast("Shell", self.app)

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows

    def show(self, view: View) -> None:
        raise NotImplementedError

    def on_resize(self) -> None:
        self.show(self.hangtop.view)

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
        plain = ascii_only if self.hangtop.ascii else printable
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
        shown = [Segment(" ", self.rich_style + (self.hangtop.palette.style(role) if role else Style.null()))]
        for line_filter in self.get_line_filters():
            shown = line_filter.apply(shown, self.background_colors[1])
        self._styles[role] = style = shown[0].style or Style.null()
        return style


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
    for at, (old, new) in enumerate(zip_longest(_cells(olds), _cells(news), fillvalue=(" ", None)), begin):
        if old == new:
            continue
        if stretches and at - stretches[-1][1] < GAP_CELLS:
            stretches[-1] = (stretches[-1][0], at + 1)
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
