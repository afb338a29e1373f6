"""Secrets of several lines: what the lines so far have begun and not ended. Pure.

A private key goes from its heading to its end; a value of YAML may stand below its name, further to the right, or beside `value:`
below `name:`; a text in three quotes goes to the next three; of a Secret of Kubernetes all data go.
"""

from __future__ import annotations

import re
from functools import cache

from hangtop.common.late_pattern import late_pattern
from hangtop.common.secrets.rules import names_nothing_secret, strong_names

_KEY_BEGINS = late_pattern(r"-----BEGIN [A-Za-z0-9 ]*(?:PRIVATE KEY|Static key)|\bPrivate-Lines:\s*\d+\s*$")
_KEY_ENDS = late_pattern(r"-----END [A-Za-z0-9 ]*(?:PRIVATE KEY|Static key)|\bPrivate-MAC:")
_KEY_LITERALS = ("PRIVATE KEY", "Static key", "Private-")
"""One of them is in every line that begins or ends a key."""
_KEY_LINE = late_pattern(
    r"(?:^|(?<=[\s:>|\]]))(?P<body>[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9+/]{1,15}={1,2}|[A-Za-z0-9+/]{1,15}$)[ \t\r]*$"
)
_MOST_KEY_LINES = 400
"""A key of 16,384 bits has 200 lines; those of other writers may stand between."""
_LONELY = late_pattern(
    r"\s*(?=[^\s]*[A-Z])(?=[^\s]*[a-z])(?=[^\s]*\d)(?P<body>[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70}|[A-Za-z0-9+/]{76})\s*"
)
_QUOTES = ('"""', "'''")
_SECRET_KIND = late_pattern(r"\bkind[\"']?:\s*[\"']?Secret\b")
_OTHER_DOCUMENT = late_pattern(r"(?:^|\s)---\s*$|\bkind[\"']?:")
_DATA = late_pattern(r"(?P<before>(?:\S.{0,120}?(?<=\s))?)(?P<indent>[ \t]*)(?P<name>(?:stringD|d)ata:)(?P<scalar>[ \t\r]*)$")
_VALUE = late_pattern(r".*?(?<![\w.-])[\"']?value[\"']?:\s*(?P<body>\S.*)")
_BELOW = late_pattern(r"(?P<indent>[ \t]*)(?:- )?(?P<body>(?P<key>[\w.\"'-]+:(?:\s|$))?(?P<one>\S+[ \t\r]*$)?.*)")


class OpenBlock:
    """The state between two lines of one text. Ask for the body of a line first, then let it `follow` the line."""

    def __init__(self) -> None:
        self._key_lines_left = 0
        self._name: re.Match[str] | None = None
        self._all_below = False
        self._quotes = ""
        self._in_secret = self._value_is_next = False

    def body(self, line: str) -> re.Match[str] | None:
        """The part of the line that belongs to what is open and must go, as the group `body`."""
        if self._key_lines_left:
            return key_line(line)
        if self._quotes:
            return _BELOW.match(line.partition(self._quotes)[0])
        if self._value_is_next and (value := _VALUE.match(line)):
            return value
        if self._name is None or not line.strip():
            return None
        before = self._name["before"]
        found = _BELOW.match(line, len(before) if line.startswith(before) else 0)
        scalar = self._all_below or bool(self._name["scalar"])
        if found and len(found["indent"]) > len(self._name["indent"]) and (scalar or (found["one"] and not found["key"])):
            return found
        self._name = None
        return None

    def follow(self, line: str) -> None:
        """What this line begins or ends. The line is as it was before anything was taken out."""
        told = any(literal in line for literal in _KEY_LITERALS)
        if told and _KEY_ENDS.search(line):
            self._key_lines_left = 0
        elif told and _KEY_BEGINS.search(line):
            self._key_lines_left = _MOST_KEY_LINES
        elif self._key_lines_left:
            self._key_lines_left -= 1
        elif self._quotes:
            self._quotes = "" if self._quotes in line else self._quotes
        elif line.strip():
            self._follow_text(line)

    def _follow_text(self, line: str) -> None:
        self._value_is_next = "name" in line and _value_below().search(line) is not None
        if "kind" in line or line.endswith("---"):
            self._in_secret = _SECRET_KIND.search(line) is not None or (self._in_secret and not _OTHER_DOCUMENT.search(line))
        if self._in_secret and (data := _DATA.match(line)):
            self._name, self._all_below = data, True
        elif line.rstrip().endswith((":", "|", ">", "-", "+", *_QUOTES)) and (found := _name_alone().match(line)):
            named = not names_nothing_secret(line[: found.start("name")])
            self._quotes = found["quotes"] or "" if named else ""
            self._name, self._all_below = found if named and not self._quotes else None, False


def key_line(line: str) -> re.Match[str] | None:
    """The part of this line that belongs to a private key, if one is open, as the group `body`."""
    return _KEY_LINE.search(line)


def lonely_key_line(line: str) -> re.Match[str] | None:
    """A line that nothing but a key or a file in base 64 has: of the usual length, and random."""
    return _LONELY.fullmatch(line) if 64 <= len(line) <= 80 else None


def ends_key(line: str) -> bool:
    return any(literal in line for literal in _KEY_LITERALS) and _KEY_ENDS.search(line) is not None


@cache
def _name_alone() -> re.Pattern[str]:
    """A telling name with nothing beside it; `before`: what a launcher put before the line."""
    return re.compile(
        r"(?i)(?P<before>(?:\S.{0,120}?)?)(?P<indent>[ \t]*)(?:- )?[\"']?[\w.-]{0,60}?"
        rf"(?P<name>{strong_names()}|auth)[\"']?(?::[ \t]*(?P<scalar>[|>][-+0-9]*)?"
        r"|[ \t]*[:=][ \t]*(?P<quotes>\"{3}|'{3}))[ \t\r]*$"
    )


@cache
def _value_below() -> re.Pattern[str]:
    """`name:` with a telling name beside it, as environments of containers are written: its value stands in the line below."""
    return re.compile(rf"(?i)(?<![\w.-])[\"']?name[\"']?:\s*[\"']?[\w.-]{{0,60}}?(?:{strong_names()}|auth|_key)[\"']?,?[ \t\r]*$")
