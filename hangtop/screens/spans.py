"""Only changed cells go to the terminal, also at the right end of a long line.

Textual 8.2 cuts an update at its right end but not at its left ("TODO: crop to x extents" in `ChopsUpdate`): a clock at the
end of a line rewrites the whole line each second, 1,100 B/s instead of 105. This uses two of its private classes, so the
version is bounded in pyproject.toml and `tests/app/test_terminal.py` measures the outcome.
"""

from __future__ import annotations

from functools import lru_cache

from rich.color import ColorSystem
from rich.console import Console
from rich.control import Control
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor


class Pen:
    """What the terminal writes with: a change of style sends only what changes. Colours and background of one short word
    take 40 bytes, and most words have the background of those before."""

    def __init__(self, system: ColorSystem) -> None:
        self._system = system
        self._now = ("", "", "")

    def write(self, text: str, style: Style | None) -> str:
        before, self._now = self._now, _codes(style or Style.null(), self._system)
        if self._now == before:
            return text
        plain = self._now[0] != before[0] or any(old and not new for old, new in zip(before, self._now, strict=True))
        parts = ("0", *self._now) if plain else tuple(new for old, new in zip(before, self._now, strict=True) if old != new)
        return f"\x1b[{';'.join(filter(None, parts))}m{text}"

    def lift(self) -> str:
        """Back to the terminal's own style."""
        return self.write("", None)


@lru_cache(maxsize=1024)
def _codes(style: Style, system: ColorSystem) -> tuple[str, str, str]:
    """SGR parameters of attributes, colour and background."""
    bare = style.without_color.render("x", color_system=system)
    attributes = bare[2 : bare.index("m")] if bare.startswith("\x1b[") else ""
    colour = ";".join(style.color.downgrade(system).get_ansi_codes()) if style.color else ""
    background = ";".join(style.bgcolor.downgrade(system).get_ansi_codes(foreground=False)) if style.bgcolor else ""
    return attributes, colour, background


class SpanUpdate(ChopsUpdate):
    """The same update, each span cropped at both ends."""

    def render_segments(self, console: Console) -> str:
        pen = Pen(console._color_system or ColorSystem.STANDARD)
        written: list[str] = []
        for y, x1, x2 in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=True):
                if strip is None or x >= x2 or end <= x1:
                    continue
                start = max(x, x1)
                written.append(Control.move_to(start, y).segment.text)
                written += [pen.write(text, style) for text, style, _ in strip.crop(start - x, min(end, x2) - x)]
        return "".join((*written, pen.lift()))


class SpanCompositor(Compositor):
    """A compositor whose partial updates are `SpanUpdate`s."""

    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        return None if update is None else SpanUpdate(update.chops, update.spans, update.chop_ends)
