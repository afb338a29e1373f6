"""Only changed cells go to the terminal, also at the right end of a long line.

Textual 8.2 cuts an update at its right end but not at its left ("TODO: crop to x extents" in `ChopsUpdate`): a clock at the
end of a line rewrites the whole line each second, 1,100 B/s instead of 105. This uses two of its private classes, so the
version is bounded in pyproject.toml and `tests/app/test_terminal.py` measures the outcome.
"""

from __future__ import annotations

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor


class SpanUpdate(ChopsUpdate):
    """The same update, each span cropped at both ends."""

    def render_segments(self, console: Console) -> str:
        written: list[str] = []
        for y, x1, x2 in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=True):
                if strip is None or x >= x2 or end <= x1:
                    continue
                start = max(x, x1)
                written.append(Control.move_to(start, y).segment.text)
                written.append(strip.crop(start - x, min(end, x2) - x).render(console))
        return "".join(written)


class SpanCompositor(Compositor):
    """A compositor whose partial updates are `SpanUpdate`s."""

    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        return None if update is None else SpanUpdate(update.chops, update.spans, update.chop_ends)
