"""Only changed cells go to the terminal, also at the right end of a long line.

Textual 8.2 cuts an update at its right end but not at its left ("TODO: crop to x extents" in `ChopsUpdate`): a clock at the
end of a line rewrites the whole line each second, 1,100 B/s instead of 105. This uses three of its private classes, so the
version is bounded in pyproject.toml and `tests/app/test_terminal.py` measures the outcome.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate
from textual.geometry import Region

from hangtop.tui.widgets.row_widget import RowWidget

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
        move = "" if self._place == (y, x) else f"\x1b[{y + 1};{x + 1}H"
        self._place = (y, x + cell_len(text))
        return f"{move}{self._change(look)}{text}"

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


Span = tuple[int, int, Iterable[Segment]]
"""Line, first cell, what to write there."""


class SpanUpdate(CompositorUpdate):
    """Writes only these spans, equal styles together: a colour costs twice as much as moving the cursor."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = spans

    def render_segments(self, console: Console) -> str:
        pieces: list[tuple[Look, int, int, str]] = []
        system = console._color_system or ColorSystem.STANDARD
        for y, x, segments in self._spans:
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

    def _of_line_view(self, region: Region) -> list[Span] | None:
        """The spans of this region; `None` if it is not part of a single row widget."""
        left, top, width, height = region
        right, bottom = left + width, top + height
        for widget, (place, clip) in self.visible_widgets.items():  # the topmost first
            x, y, wide, tall = place
            if x < right and left < x + wide and y < bottom and top < y + tall:
                alone = x <= left and right <= x + wide and y <= top and bottom <= y + tall and clip.contains_region(region)
                if not (alone and isinstance(widget, RowWidget)):
                    return None
                return [(line, left, widget.stretch(line - y, left - x, right - x)) for line in range(top, bottom)]
        return None


def _cropped(update: ChopsUpdate) -> Iterable[Span]:
    for y, x1, x2 in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=True):
            if strip is not None and x < x2 and end > x1:
                start = max(x, x1)
                yield y, start, strip.crop(start - x, min(end, x2) - x)
