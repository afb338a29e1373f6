"""The programs that a shell's script starts behind a place in its text: what is left to do when it gets there. Pure.

Only words in the place of a command count, as in `shell_text.py`. What only ends a script (`kill %1`, `echo done`) is nothing
left to do; where the text is more than a scan can tell (here-documents, `case`), nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from hangtop.common.late_pattern import late_pattern
from hangtop.system.processes.shell_text import OPENERS, words_of

ENDS = frozenset(
    """wait exit return kill pkill killall trap echo printf date sleep rm true false : test [ [[ set unset export local readonly
    declare shift break continue cd pushd popd umask sync touch tput logger done fi } ) eval in""".split()
)
"""Commands that start no work: a script may end with any of them."""
UNCLEAR = late_pattern(r"<<|^\s*case\s|\besac\b", re.MULTILINE)
_FUNCTION = late_pattern(r"(?:^|(?<=[;\n]))[ \t]*(?:function[ \t]+)?(?P<name>[\w-]+)[ \t]*\([ \t]*\)[ \t\n]*\{")
_ASSIGNS = late_pattern(r"\w+\+?=")
_NO_COMMAND = late_pattern(r"[<>\d)]")
"""How a word begins that is no command: a redirection, or what follows the `&` of `2>&1`."""


class Command(Struct, frozen=True):
    word: str
    start: int
    function: str | None


def behind_last_wait(program: str) -> str | None:
    """The first program that is started behind the last `wait` of a script, as its line has it; `None` where nothing is left, or
    that is not known. A `wait` within a function may be called from anywhere."""
    commands = list(commands_of(program))
    waits = [place for place, command in enumerate(commands) if command.word == "wait"]
    if not waits or any(commands[place].function is not None for place in waits):
        return None
    return _first(program, commands, commands[waits[-1]].start)


def behind(program: str, place: int) -> str | None:
    """The first program that is started behind a place at which a command ends."""
    return _first(program, list(commands_of(program)), place)


def all_behind(program: str, place: int) -> tuple[str, ...]:
    """The lines from each program on that is started behind a place at which a command ends."""
    return tuple(_all(program, list(commands_of(program)), place))


def _first(program: str, commands: list[Command], place: int) -> str | None:
    return next(_all(program, commands, place), None)


def _all(program: str, commands: list[Command], place: int) -> Iterator[str]:
    if UNCLEAR.search(program, place):
        return
    works = {command.function for command in commands if command.word not in ENDS and command.function is not None}
    names = {command.function for command in commands} | {found["name"] for found in _FUNCTION.finditer(program)}
    for command in commands:
        if command.start < place or command.function is not None or command.word in ENDS:
            continue
        if command.word in names and command.word not in works:
            continue
        line_end = program.find("\n", command.start)
        yield program[command.start : None if line_end < 0 else line_end].strip()


def commands_of(program: str) -> Iterator[Command]:
    """The first words of all commands, without those that only join others, each with the function in which it stands."""
    functions = {found.end() - 1: found["name"] for found in _FUNCTION.finditer(program)}
    depth, inside, last_end = 0, None, -1
    awaits = False
    for word, start, end, first in words_of(program):
        glued, last_end = start == last_end, end
        if glued:  # the rest of a word: `A="$B"`
            continue
        first, awaits = first or awaits, False
        while inside is None and functions and min(functions) < start:
            inside, depth = functions.pop(min(functions)), 1
        if not first:
            continue
        if _ASSIGNS.match(word):
            awaits = True
        elif word == "{" and inside is not None:
            depth += 1
        elif word == "}" and inside is not None:
            depth -= 1
            inside = inside if depth else None
        elif word not in OPENERS and word not in ("do", "then", "else") and not _NO_COMMAND.match(word):
            yield Command(word, start, inside)
