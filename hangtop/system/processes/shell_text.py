"""What the text of a shell's program says of the `sleep` that it waits for: is it in a loop, and in which? Pure.

Only words in the place of a command count (POSIX.1-2017, XCU 2.4 and 2.9.4), as far as a scan tells that does not parse quotes,
here-documents and functions in other files. Where it is in doubt it says nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator

from msgspec import Struct

from hangtop.common.late_pattern import late_pattern

LOOPS = frozenset({"while", "until", "for"})
OPENERS = LOOPS | frozenset({"do", "then", "else", "elif", "if", "!", "{", "(", "time"})
"""After these words a command begins."""
_WORD = late_pattern(
    r"""(?P<quoted>"(?:\\.|[^"\\])*"|'[^']*')|(?P<comment>(?:^|(?<=[\s;]))\#[^\n]*)|(?P<end>[;&|\n]+|[({](?=\s)|\()|"""
    r"""(?P<word>(?:[^\s;&|()"']|\\.)+)"""
)
_WRITTEN = late_pattern(r"""(?:>{1,2}[|&]?\s*|\btee\s+(?:-\w+\s+)*)["']?([\w./+@,:-]+)""")
"""A file that a command writes, by a redirection or through `tee`; who only reads the log is no part of the run."""
_SETS = late_pattern(r"""(?:^|(?<=[\s;]))(?P<name>\w+)\+?=(?P<value>"[^"]*"|'[^']*'|[^\s;&|]*)""")
_PLAIN = late_pattern(r"[\w./+@,:-]+")
_VARIABLE = late_pattern(r"\$(?:\{(\w+)\}|(\w+))")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = late_pattern(r"(\d+(?:\.\d*)?|\.\d+)([smhd]?)")


class Loop(Struct, frozen=True):
    """A loop of a shell's program. `text`: all of it, with what follows in its last line."""

    text: str

    def writes(self, paths: Collection[str], cwd: str) -> bool:
        """Whether it writes one of these files, as seen from the folder in which the shell works."""
        return writes(self.text, paths, cwd)

    @property
    def head(self) -> str:
        """Its condition: `until test -f data/ready`."""
        return re.split(r"[;\n]", self.text, maxsplit=1)[0].strip()


def writes(text: str, paths: Collection[str], cwd: str) -> bool:
    """Whether a part of a program writes one of these files, as seen from the folder in which the shell works."""
    return any(os.path.normpath(os.path.join(cwd, word)) in paths for word in _WRITTEN.findall(text))


def filled(text: str, program: str) -> str:
    """A part of a program, with the variables that all of it sets once, to a word that is written out: `LOG=train.log`."""
    set_to: dict[str, set[str]] = {}
    for found in _SETS.finditer(program):
        set_to.setdefault(found["name"], set()).add(found["value"].strip("\"'"))
    constants = {name: values.pop() for name, values in set_to.items() if len(values) == 1}
    constants = {name: value for name, value in constants.items() if _PLAIN.fullmatch(value)}
    return _VARIABLE.sub(lambda found: constants.get(found[1] or found[2], found[0]), text)


def seconds_of(arguments: tuple[str, ...]) -> float | None:
    """How long `sleep` with these arguments takes (coreutils); `None` for ever, or where it is not understood."""
    found = [_DURATION.fullmatch(word) for word in arguments]
    if not found or not all(found):
        return None
    return sum(float(each[1]) * _UNITS[each[2]] for each in found if each is not None)


def loop_around_sleep(program: str, arguments: tuple[str, ...]) -> Loop | None:
    """The innermost loop in which the one `sleep` stands that may have these arguments; `None` where there are several, some
    outside of any loop."""
    found: list[tuple[int, int] | None] = []
    open_at: list[int] = []
    waiting: list[tuple[int, int]] = []
    """Sleeps, by their place in `found`, and the beginning of their loop, until its end is seen."""
    words = list(words_of(program))
    for number, (word, start, end, first) in enumerate(words):
        if first and word in LOOPS:
            open_at.append(start)
        elif first and word == "done" and open_at:
            began = open_at.pop()
            line_end = program.find("\n", end)
            for place in (place for place, at in waiting if at == began):
                found[place] = (began, len(program) if line_end < 0 else line_end)
            waiting = [each for each in waiting if each[1] != began]
        elif first and word == "sleep" and _fits(words[number + 1 :], arguments):
            found.append(None)
            waiting += [(len(found) - 1, open_at[-1])] if open_at else []
    regions = set(found)
    region = regions.pop() if len(regions) == 1 else None
    return None if region is None else Loop(program[region[0] : region[1]])


def counts_out(program: str) -> bool:
    """Whether it has loops, and each goes through a list: `for part in 1 2 3`. A `while` looks for something, or never ends."""
    loops = [(word, program[end:].lstrip()) for word, _, end, first in words_of(program) if first and word in LOOPS]
    return bool(loops) and all(word == "for" and not rest.startswith("((") for word, rest in loops)


def words_of(program: str) -> Iterator[tuple[str, int, int, bool]]:
    """Each word, where it begins and ends, and whether it is in the place of a command."""
    first = True
    for found in _WORD.finditer(program):
        if found["comment"]:
            continue
        if found["end"]:
            first = True
            continue
        word = found[0]
        yield word, found.start(), found.end(), first
        first = word in OPENERS if first else word in ("do", "then", "else")


def _fits(following: list[tuple[str, int, int, bool]], arguments: tuple[str, ...]) -> bool:
    """Whether the words behind may become these arguments; a variable may become any."""
    own = [word.strip("\"'") for word, _, _, first in following[: len(arguments)] if not first]
    pairs = zip(own, arguments, strict=False)
    return len(own) == len(arguments) and all(word == argument or "$" in word for word, argument in pairs)
