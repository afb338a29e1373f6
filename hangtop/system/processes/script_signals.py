"""The commands behind a place in a shell's script that let a stopped process go on: `kill -CONT "$pid"`. Pure.

As in `script_commands.py` only words in the place of a command count. A target that is written out must be the process; of a
variable the text does not tell which process it names.
"""

from __future__ import annotations

import re

from hangtop.common.late_pattern import late_pattern
from hangtop.system.processes.script_commands import UNCLEAR, Command, commands_of
from hangtop.system.processes.shell_text import LOOPS, words_of

SENDERS = frozenset({"kill", "pkill", "killall"})
_CONTINUES = late_pattern(r"""-(?:[sn]\s*|-signal[= ])?["']?(?:(?:SIG)?CONT|18)\b["']?(?P<targets>[^;&|\n]*)""", re.IGNORECASE)
_PID = late_pattern(r"-?\d+")


def continues_behind(program: str, place: int, pid: int) -> str | None:
    """The first command behind this place that lets the process go on, or that the script runs at its exit, as `trap` told it;
    `None` where nothing does, or that is not known. A loop that ends at the place, or around it, comes back to its begin."""
    if UNCLEAR.search(program, place):
        return None
    commands, start = list(commands_of(program)), _loop_before(program, place)
    called = {command.word for command in commands if command.start >= start and command.function is None}
    for command in commands:
        ahead = command.start >= start if command.function is None else command.function in called
        text = _line(program, command)
        if command.word in SENDERS and ahead and _lets_go(text[len(command.word) :], pid):
            return text
        if command.word == "trap" and command.function is None and "kill" in text and _lets_go(text, pid):
            return text
    return None


def behind_command(program: str, command: tuple[str, ...]) -> int | None:
    """Where the last command ends that may have been started as this one, outside of functions and not in the background; `None`
    where none is found. A variable may become any word."""
    words = list(words_of(program))
    own = {each.start for each in commands_of(program) if each.function is None}
    found = None
    for number, (word, start, _, _) in enumerate(words):
        if start not in own or word.rsplit("/", 1)[-1] != command[0].rsplit("/", 1)[-1]:
            continue
        following = words[number + 1 : number + len(command)]
        fits = (word.strip("\"'") == said or "$" in word for (word, *_), said in zip(following, command[1:], strict=False))
        end = following[-1][2] if following else start + len(word)
        if len(following) == len(command) - 1 and all(fits) and not program[end:].lstrip(" \t").startswith("&"):
            found = end
    return found


def _lets_go(text: str, pid: int) -> bool:
    found = _CONTINUES.search(text)
    if found is None:
        return False
    targets = [word.strip("\"'") for word in found["targets"].split()]
    return not all(_PID.fullmatch(word) for word in targets) or str(pid) in {word.lstrip("-") for word in targets}


def _line(program: str, command: Command) -> str:
    line_end = program.find("\n", command.start)
    return program[command.start : None if line_end < 0 else line_end].strip()


def _loop_before(program: str, place: int) -> int:
    """Where the outermost loop begins that is around the place, or ends in the line that ends at it: bash has read a loop to its
    end before it runs a command of it."""
    line = program.rfind("\n", 0, max(0, place - 1)) + 1
    open_at: list[int] = []
    for word, start, end, first in words_of(program):
        if first and word in LOOPS and start < place:
            open_at.append(start)
        elif first and word == "done" and open_at:
            began = open_at.pop()
            if not open_at and end > line:
                return began
    return open_at[0] if open_at else place
