"""Only changed cells go to the terminal, also at the right end of a long line.

Textual 8.2 cuts an update at its right end but not at its left ("TODO: crop to x extents" in `ChopsUpdate`): a clock at the
end of a line rewrites the whole line each second, 1,100 B/s instead of 105. This uses two of its private classes, so the
version is bounded in pyproject.toml and `tests/app/test_terminal.py` measures the outcome.
"""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.control import Control
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor

Look = tuple[str, str, str]
"""SGR parameters of attributes, colour and background."""
PLAIN: Look = ("", "", "")


class Pen:
    """What the terminal writes with: a change of look sends only what changes. Colours and background of one short word
    take 40 bytes, and most words have the background of those before."""

    def __init__(self) -> None:
        self._look = PLAIN
        self._place = (-1, -1)

    def write(self, look: Look, y: int, x: int, text: str) -> str:
        move = "" if self._place == (y, x) else Control.move_to(x, y).segment.text
        self._place = (y, x + cell_len(text))
        return f"{move}{self._change(look)}{text}"

    def lift(self) -> str:
        """Back to the terminal's own look."""
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


class SpanUpdate(ChopsUpdate):
    """The same update, each span cropped at both ends, and what looks alike written together: a colour costs twice what it
    takes to move the cursor."""

    def render_segments(self, console: Console) -> str:
        pieces: list[tuple[Look, int, int, str]] = []
        system = console._color_system or ColorSystem.STANDARD
        for y, x1, x2 in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=True):
                if strip is None or x >= x2 or end <= x1:
                    continue
                at = max(x, x1)
                for text, style, _ in strip.crop(at - x, min(end, x2) - x):
                    pieces.append((look_of(style or Style.null(), system), y, at, text))
                    at += cell_len(text)
        pen = Pen()
        written = [pen.write(*piece) for piece in sorted(pieces)]
        return "".join((*written, pen.lift()))


class SpanCompositor(Compositor):
    """A compositor whose partial updates are `SpanUpdate`s."""

    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        return None if update is None else SpanUpdate(update.chops, update.spans, update.chop_ends)
