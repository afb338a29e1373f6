"""Rows of spans: text, and the role that gives its colour. Pure, and without Textual: commands print the same rows."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size

from hangtop.common.text import breakable, printable
from hangtop.translations import say

Span = tuple[str, str]
"""Text and its role, such as `("2:31", "bad bold")`. The text is never parsed as markup."""
Row = tuple[Span, ...]
BLANK: Row = ()


def width_of(row: Iterable[Span]) -> int:
    return sum(len(text) if text.isascii() else cell_len(text) for text, _ in row)


def plain(row: Row) -> str:
    """The text of a row, safe to print on a terminal."""
    return printable("".join(text for text, _ in row).rstrip())


def cut(row: Row, width: int) -> Row:
    """The row in at most `width` cells; what was cut off shows as `…`."""
    if width_of(row) <= width:
        return row
    kept: list[Span] = []
    left = width - 1
    for text, role in row:
        cells = cell_len(text)
        if cells > left:
            kept.append((set_cell_size(text, max(0, left)) + "…", role))
            break
        kept.append((text, role))
        left -= cells
    return tuple(kept) if width > 0 else ()


def folded(row: Row, width: int, indent: int, aside: int = 0) -> list[Row]:
    """The row broken into lines, after blanks or between Chinese characters; further lines are indented. `aside`: cells to leave
    free at the end of the first."""
    lines: list[list[Span]] = [[]]
    used = 0
    for words, role in row:
        for word in breakable(words):
            if used > indent and used + cell_len(word.rstrip()) > width - (aside if len(lines) == 1 else 0):
                lines[-1][-1] = (lines[-1][-1][0].rstrip(), lines[-1][-1][1])
                lines.append([(" " * indent, "")])
                used = indent
            lines[-1].append((word, role))
            used += cell_len(word)
    return [cut(tuple(line), width) for line in lines]


def wrapped_row(row: Row, width: int, indent: int) -> list[Row]:
    """The row broken at the edge, wherever that is, so that nothing of it is lost or moved; further rows are indented."""
    lines: list[Row] = []
    line: list[Span] = []
    room = width
    for words, role in row:
        left = words
        while left:
            taken = left[: max(0, room)] if left.isascii() else _fitting(left, room)
            if not taken and line:
                lines.append(tuple(line))
                line, room = [(" " * indent, "")], max(2, width - indent)
                continue
            taken = taken or left[0]
            line.append((taken, role))
            room -= cell_len(taken)
            left = left[len(taken) :]
    return [*lines, tuple(line)]


def _fitting(words: str, room: int) -> str:
    """As many characters as fit into so many cells."""
    cells = 0
    for place, character in enumerate(words):
        cells += cell_len(character)
        if cells > room:
            return words[:place]
    return words


def at_most(rows: list[Row], count: int, width: int) -> list[Row]:
    """The first `count` lines; `…` at the end of the last shows that there are more."""
    if len(rows) <= count:
        return rows
    *kept, last = rows[:count]
    role = last[-1][1] if last else ""  # where there is no room at all, rows are empty
    return [*kept, cut((*last, ("…", role)), width)]


def pad(row: Row, width: int) -> Row:
    """The row in exactly `width` cells."""
    cells = width_of(row)
    if cells > width:
        row = cut(row, width)
        cells = width_of(row)
    return (*row, (" " * (width - cells), ""))


def align(text: str, width: int, role: str, *, right: bool = False) -> Span:
    """One cell of a table."""
    cells = cell_len(text)
    if cells > width:
        text, cells = set_cell_size(text, max(0, width - 1)) + "…", width
    space = " " * (width - cells)
    return (space + text if right else text + space, role)


def between(left: Row, right: Row, width: int) -> Row:
    """`left` at the left edge, `right` at the right edge; `left` is cut if there is no room."""
    room = max(0, width - width_of(right) - (1 if right else 0))
    return (*pad(left, room), (" " if right else "", ""), *cut(right, width))


DOT: Span = (" · ", "faint")


def dotted(parts: Iterable[Row]) -> Row:
    """The parts, separated by faint dots."""
    row: list[Span] = []
    for part in parts:
        if part:
            row += [DOT, *part] if row else part
    return tuple(row)


def head(key: str, title: str, summary: Row, width: int, *, focused: bool = False, right: Row = BLANK) -> Row:
    """The head line of a pane: `2 Ranks  1 behind · 7 wait ─────`; the rule is heavy while it has the focus."""
    left: Row = ((f"{key} ", "accent bold"), (say(title), "accent bold" if focused else "ink bold"), ("  ", ""), *summary)
    room = width - 2 - width_of(right)
    while width_of(left) > room and (dots := [place for place, span in enumerate(left) if span == DOT]):
        left = left[: dots[-1]]  # as many parts as fit whole; a single one is cut
    left = cut(left, room)
    rule = width - width_of(left) - width_of(right) - (2 if right else 1)
    return (
        *left,
        (" ", ""),
        (("━" if focused else "─") * rule, "accent" if focused else "faint"),
        (" " if right else "", ""),
        *right,
    )
