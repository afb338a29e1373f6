"""A line in the colours that its program gave it, as roles. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common.own_colours import ATTRIBUTES, stretches
from hangtop.render.spans import Row

BRIGHT = 8
MOST = 255


def inked(words: str, colours: str, role: str) -> Row:
    """The words; what has no colour of its own in `role`."""
    row: Row = ()
    at = 0
    for first, end, sgr in stretches(colours, len(words)):
        row = (*row, (words[at:first], role), (words[first:end], _role(sgr, role)))
        at = end
    return (*row, (words[at:], role))


def _role(sgr: Sequence[str], role: str) -> str:
    """`color(1) bold`: a colour as Rich names it, the terminal's own where it is one of its sixteen."""
    begins = sgr.index("38") if "38" in sgr else len(sgr)
    attributes = [ATTRIBUTES[number] for number in sgr[:begins] if number in ATTRIBUTES]
    colour = _colour([int(number) for number in sgr[begins:] or sgr if begins < len(sgr) or number not in ATTRIBUTES])
    return " ".join((colour or role, *attributes))


def _colour(numbers: Sequence[int]) -> str:
    match numbers:
        case [38, 5, index] if index <= MOST:
            return f"color({index})"
        case [38, 2, red, green, blue] if max(red, green, blue) <= MOST:
            return f"#{red:02x}{green:02x}{blue:02x}"
        case [basic] if 30 <= basic <= 37:
            return f"color({basic - 30})"
        case [basic] if 90 <= basic <= 97:
            return f"color({basic - 90 + BRIGHT})"
    return ""
