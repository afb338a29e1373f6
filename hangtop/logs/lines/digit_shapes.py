"""Lines that differ in their digits alone: a regex that takes all digits alike matches them at the same places, so it is run once
for all of them. A thousand ranks tell a step in a handful of shapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from hangtop.common.late_pattern import compiled

LONGEST = 400
"""A longer text hardly comes again in its shape."""
MOST = 1_024
"""Shapes remembered for each use: some hundred kB."""

_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_ALIKE = re.compile(r"\\[^\dxuUN]|\{\d*,?\d*\}|\(\?P<\w+>|(?<=[\[\^A-Za-z_])0-9")
"""What stands in a regex with digits, or after a backslash, and takes all digits alike."""

Places = tuple[tuple[str, int, int], ...]
"""Where the named groups of a match stand, those alone that took part in it."""
Groups = dict[str, str]
"""What these groups hold."""


def shape_of(text: str) -> str:
    """The text with `0` for each digit."""
    return text.encode("utf-8", "surrogatepass").translate(_ZEROS).decode("utf-8", "surrogatepass")


@lru_cache(maxsize=512)
def is_blind(regex: str) -> bool:
    """Whether the regex takes all digits alike. In doubt it does not."""
    rest = _ALIKE.sub("", regex)
    return "(?P=" not in rest and not any(char.isdigit() for char in rest)


def found_groups(regex: str, text: str, shape: str) -> Groups | None:
    """The named groups of the first match in a text, by its shape; `None` if there is no match."""
    if len(text) > LONGEST or not is_blind(regex):
        found = compiled(regex).search(text)
        places = None if found is None else _places(found)
    else:
        places = _first_places(regex, shape)
    return None if places is None else {name: text[start:end] for name, start, end in places}


def all_groups(regex: str, text: str, shape: str) -> list[Groups]:
    """The named groups of each match in a text, by its shape."""
    if len(text) > LONGEST or not is_blind(regex):
        each: Iterable[Places] = map(_places, compiled(regex).finditer(text))
    else:
        each = _all_places(regex, shape)
    return [{name: text[start:end] for name, start, end in places} for places in each]


@lru_cache(maxsize=MOST)
def _first_places(regex: str, shape: str) -> Places | None:
    found = compiled(regex).search(shape)
    return None if found is None else _places(found)


@lru_cache(maxsize=MOST)
def _all_places(regex: str, shape: str) -> tuple[Places, ...]:
    return tuple(map(_places, compiled(regex).finditer(shape)))


def _places(found: re.Match[str]) -> Places:
    return tuple((name, *found.span(name)) for name in found.re.groupindex if found[name] is not None)
