"""Tables of scores. Into the READMEs of `tests` they are written between `<!-- NAME -->` and `<!-- end of NAME -->`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def share(marks: Iterable[bool | None]) -> str:
    """`19 of 20`, of those that were judged; `-` where none was."""
    judged = [mark for mark in marks if mark is not None]
    return f"{sum(judged)} of {len(judged)}" if judged else "-"


def write(readme: Path, name: str, text: str) -> None:
    """Put `text` in place of what stands between the markers of this name.

    Raises `ValueError` where the file has no such markers.
    """
    begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    before, found, rest = readme.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{readme} has no place for {name}: it is marked by {begin.strip()} and {end.strip()}")
    readme.write_text(before + begin + text + end + after, encoding="utf-8")
