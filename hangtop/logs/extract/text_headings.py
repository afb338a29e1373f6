"""Headings under which a log shows text that is not its own: data, samples, what a model wrote."""

from __future__ import annotations

from hangtop.logs.extract.quoted_text import heading_above
from hangtop.logs.extract.steps.pace import HEALTHY_STEPS
from hangtop.logs.lines.block_lines import Lines, Span

KEPT = 64


class TextHeadings:
    """By the form of a heading: the steps told when a message last stood under it, and how often the run went on after that."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def was_survived(self, lines: Lines, span: Span, steps: int, newest_step: int) -> bool:
        """Whether messages stood under the heading of this line before, and the run went on. `steps`: told so far; `newest_step`:
        where the last one stands, by byte."""
        heading = heading_above(lines, span, newest_step)
        if not heading:
            return False
        before, survived = self._known.pop(heading, (steps, 0))
        survived += steps - before >= HEALTHY_STEPS
        self._known[heading] = (steps, survived)
        if len(self._known) > KEPT:
            del self._known[next(iter(self._known))]
        return survived > 0
