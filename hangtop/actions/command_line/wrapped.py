"""What a command line finally runs, below `env`, `nohup`, `timeout` and the like, and what each of these changes. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from getopt import GetoptError, getopt
from itertools import takewhile

from msgspec import Struct

from hangtop.system.processes.roles import PYTHON

WRAPPERS: dict[str, tuple[str, str, int]] = {
    "nohup": ("", "", 0),
    "setsid": ("cfw", "ctty fork wait", 0),
    "nice": ("n:0123456789", "adjustment=", 0),
    "ionice": ("c:n:t", "class= classdata= ignore", 0),
    "stdbuf": ("i:o:e:", "input= output= error=", 0),
    "timeout": ("fpvs:k:", "foreground preserve-status verbose signal= kill-after=", 1),
    "taskset": ("ac", "all-tasks cpu-list", 1),
    "chrt": ("abdfiorRvT:P:D:", "batch fifo other rr verbose sched-runtime= sched-period= sched-deadline=", 1),
    "numactl": ("abli:w:N:c:C:m:p:P:", "all localalloc interleave= cpunodebind= cpubind= physcpubind= membind= preferred=", 0),
    "time": ("apqvf:o:", "append portability quiet verbose format= output=", 0),
    "catchsegv": ("", "", 0),
}
"""Programs that run the program after them: (their options as getopt(3) reads them, short and long, number of their operands
before it), by their manual pages (coreutils, util-linux, numactl, GNU time). With any other option it is not clear what they
run."""
VALUED_OF_PYTHON = "WX"
"""Options of the interpreter with a value, beside `-c` and `-m`, which end its options (python(1))."""
LAUNCHER_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
}
LAUNCHERS = frozenset(("torchrun", "accelerate", "deepspeed"))
"""They start the Python program on their command line in each rank, with the interpreter that runs them."""
MODULE_FLAGS = frozenset(("-m", "--module"))
MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class Wrapper(Struct, frozen=True):
    """One program of a command line, and what it changes for the next. `words`: from its name on. `clears`: it empties the
    environment first. `folder`: its new working directory."""

    words: tuple[str, ...]
    sets: dict[str, str] = {}
    unsets: tuple[str, ...] = ()
    clears: bool = False
    folder: str | None = None


class PythonCall(Struct, frozen=True):
    """What a Python interpreter runs. `options`: its own. `script`: a file, or `-` for stdin; `module`: of `-m`; neither for
    `-c`. `rest`: the words after it."""

    options: tuple[str, ...] = ()
    script: str | None = None
    module: str | None = None
    rest: tuple[str, ...] = ()


def layers(argv: Sequence[str]) -> Iterator[Wrapper]:
    """Each program of the command line, in order; the last is the one that finally runs, as far as that is clear."""
    words = tuple(argv)
    while words:
        name = os.path.basename(words[0])
        if name == "env":
            layer, words = _env(words)
        elif name in WRAPPERS:
            layer, words = Wrapper(words), _after(words, *WRAPPERS[name])
        else:
            yield Wrapper(words)
            return
        yield layer


def innermost(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of the program that finally runs; empty when that is not clear."""
    found = [layer.words for layer in layers(argv)]
    return found[-1] if found else ()


def python_call(words: Sequence[str]) -> PythonCall | None:
    """What the interpreter runs; `None` when the first word is not a Python interpreter."""
    if not words or not PYTHON.search(words[0]):
        return None
    place = 1
    while place < len(words) and words[place].startswith("-") and words[place] != "-":
        word, place = words[place], place + 1
        if word.startswith("--"):
            place += word == "--check-hash-based-pycs"
            continue
        for number, letter in enumerate(word[1:], 1):
            if letter in "cm":
                value = word[number + 1 :] or (words[place] if place < len(words) else "")
                rest = tuple(words[place + (not word[number + 1 :]) :])
                options = (*words[1 : place - 1], *((word[:number],) if number > 1 else ()))
                return PythonCall(options, module=value if letter == "m" else None, rest=rest)
            if letter in VALUED_OF_PYTHON:
                place += not word[number + 1 :]
                break
    options = tuple(words[1:place])
    return PythonCall(options, words[place] if place < len(words) else None, rest=tuple(words[place + 1 :]))


def launched(call: PythonCall) -> PythonCall | None:
    """The file or module that a launcher starts in each rank; `None` when that is not clear, or this is not a launcher.

    Only the launcher knows whether `--name value` is an option with a value, or a flag before the program. A word that ends in
    `.py` is the program: no option of these launchers takes such a file.
    """
    if (LAUNCHER_MODULES.get(call.module or "") or os.path.basename(call.script or "")) not in LAUNCHERS:
        return None
    for place, word in enumerate(call.rest):
        following, rest = call.rest[place + 1 : place + 2], call.rest[place + 2 :]
        if word in MODULE_FLAGS:
            return PythonCall(module=following[0], rest=rest) if following and MODULE.fullmatch(following[0]) else None
        if word.endswith(".py") and not word.startswith("-"):
            return PythonCall(script=word, rest=following + rest)
    return None


def _env(words: tuple[str, ...]) -> tuple[Wrapper, tuple[str, ...]]:
    """`env [-i] [-u NAME] [-C FOLDER] [NAME=VALUE …] COMMAND` (env(1)). Strings that it splits itself (`-S`) are not read."""
    try:
        options, left = getopt(list(words[1:]), "iu:C:v", ["ignore-environment", "unset=", "chdir=", "debug"])
    except GetoptError:
        return Wrapper(words), ()
    bare = left[:1] == ["-"]  # the same as -i
    given = list(takewhile(lambda word: "=" in word, left[bare:]))
    sets = dict(word.split("=", 1) for word in given)
    unsets = tuple(value for name, value in options if name in ("-u", "--unset"))
    clears = bare or any(name in ("-i", "--ignore-environment") for name, _ in options)
    folders = [value for name, value in options if name in ("-C", "--chdir")]
    return Wrapper(words, sets, unsets, clears, folders[-1] if folders else None), tuple(left[bare + len(given) :])


def _after(words: tuple[str, ...], short: str, long: str, operands: int) -> tuple[str, ...]:
    """The words after the options and operands of a wrapper; none when that is not clear."""
    try:
        _, rest = getopt(list(words[1:]), short, long.split())
    except GetoptError:
        return ()
    return tuple(rest[operands:])
