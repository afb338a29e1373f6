"""The colours that a program gave its own lines: of its escape sequences only those that colour text (SGR of ECMA-48), as numbers
beside the clean text. All else of them is gone for good. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hangtop.common.clean_text import ESCAPES, clean_text

Ink = tuple[str, frozenset[str]]
"""A colour as SGR names it, `31` or `38;5;208`, or none; and attributes."""
PLAIN: Ink = ("", frozenset())
ATTRIBUTES = {"1": "bold", "2": "dim", "3": "italic", "4": "underline"}
OFF = {"22": frozenset("12"), "23": frozenset("3"), "24": frozenset("4")}
MOST_STRETCHES = 64
_COLOURS = re.compile(r"(?:\x1b\[|\x9b)([\d;:]*)m")
_STRETCH = re.compile(r"(\d{1,5})-(\d{1,5}):([\d;]{1,24})")
_BASIC = re.compile(r"3[0-7]|9[0-7]")
_FURTHER = {"5": 2, "2": 4}
"""How many numbers follow 38: one of 256 colours, or red, green and blue."""


def own_colours(raw: str, text: str) -> str:
    """Where `text`, a cleaned part of `raw`, is coloured: `0-4:32 5-14:1;31`; empty if it is not, or if it stands there in other
    words."""
    whole, inks = "", []
    for words, ink in _inked(raw):
        if ink != PLAIN and words:
            inks.append((len(whole), len(whole) + len(words), ";".join((*sorted(ink[1]), *([ink[0]] if ink[0] else [])))))
        whole += words
    shown = clean_text(text)
    begin = whole.rfind(shown) if shown else -1
    if begin < 0:
        return ""
    inside = ((max(0, first - begin), min(len(shown), end - begin), sgr) for first, end, sgr in inks)
    return " ".join([f"{first}-{end}:{sgr}" for first, end, sgr in inside if first < end][:MOST_STRETCHES])


def _inked(raw: str) -> Iterator[tuple[str, Ink]]:
    """The clean words between escape sequences, and their ink."""
    ink, at = PLAIN, 0
    for escape in ESCAPES.finditer(raw):
        yield clean_text(raw[at : escape.start()]), ink
        at = escape.end()
        if (found := _COLOURS.fullmatch(escape[0])) is not None:
            ink = _after(ink, found[1].replace(":", ";").split(";"))
    yield clean_text(raw[at:]), ink


def _after(ink: Ink, numbers: list[str]) -> Ink:
    """The ink after these parameters; backgrounds, blinking and the like change nothing."""
    colour, attributes = ink
    place = 0
    while place < len(numbers):
        number, taken = numbers[place] or "0", 1
        if number == "0":
            colour, attributes = PLAIN
        elif number in ATTRIBUTES:
            attributes |= {number}
        elif number in OFF:
            attributes -= OFF[number]
        elif number == "39":
            colour = ""
        elif number in ("38", "48"):
            taken = 1 + _FURTHER.get("".join(numbers[place + 1 : place + 2]), 0)
            colour = ";".join(numbers[place : place + taken]) if number == "38" else colour
        elif _BASIC.fullmatch(number):
            colour = number
        place += taken
    return colour, attributes


def stretches(colours: str, length: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """First and last-but-one character, and SGR parameters, of each coloured stretch of a text of this length, in order. What is
    not of that form is left out, for recordings are foreign."""
    at = 0
    for word in colours.split(" "):
        if (found := _STRETCH.fullmatch(word)) is not None:
            first, end = max(at, int(found[1])), min(length, int(found[2]))
            if first < end:
                yield first, end, tuple(filter(None, found[3].split(";")))
                at = end
