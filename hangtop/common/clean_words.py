"""Words of command lines made fit to be shown: they can hold control codes, line ends and anything else."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import shorten

MAX_COMMAND = 2_000
SHORT_COMMAND = 60


def clean_words(text: str) -> str:
    """`text` on one line, with every character replaced that a terminal does not simply show."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else "�" for char in text)


def command_line(words: Iterable[str]) -> str:
    """Arguments as one line, cut at `MAX_COMMAND` characters."""
    line = clean_words(" ".join(words)).strip()
    return line if len(line) <= MAX_COMMAND else line[: MAX_COMMAND - 1] + "…"


def short_line(line: str) -> str:
    """A command line without the folder of its program, and not too long."""
    program, blank, arguments = line.partition(" ")
    return shorten(f"{program.rpartition('/')[2]}{blank}{arguments}", SHORT_COMMAND, placeholder=" …")
