"""What a command line finally runs, below `env`, `nohup`, `timeout` and the like, and what each of these changes. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hangtop.system.processes.roles import PYTHON

WRAPPERS: dict[str, tuple[str, int]] = {
    "nohup": ("", 0),
    "setsid": ("", 0),
    "nice": ("n", 0),
    "ionice": ("cn", 0),
    "stdbuf": ("ioe", 0),
    "timeout": ("sk", 1),
    "taskset": ("", 1),
    "chrt": ("TPD", 1),
    "numactl": ("iNCmpPw", 0),
    "time": ("fo", 0),
    "catchsegv": ("", 0),
}
"""Programs that run the program after them: (letters of their options that take a value, number of their operands before it), by
their manual pages (coreutils, util-linux, numactl, GNU time)."""
LONG_FLAGS = frozenset(
    "--foreground --preserve-status --verbose --localalloc --fork --wait --ctty --portability --cpu-list".split()
)
"""Their long options without a value. After any other one without `=` it is not clear where the command begins."""
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
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


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
    found: tuple[str, ...] = ()
    for layer in layers(argv):
        found = layer.words
    return found


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
    """What a launcher starts in each rank; `None` when that is not clear, or this is not a launcher."""
    launcher = LAUNCHER_MODULES.get(call.module or "") or os.path.basename(call.script or "")
    return started_by(launcher, call.rest)


def started_by(launcher: str, words: Sequence[str]) -> PythonCall | None:
    """The file or module among these words that the launcher starts; `None` when that is not clear.

    Only the launcher knows whether `--name value` is an option with a value, or a flag before the program. A word that ends in
    `.py` is the program: no option of these launchers takes such a file.
    """
    if launcher not in LAUNCHERS:
        return None
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if word in MODULE_FLAGS:
            return PythonCall(module=following, rest=tuple(words[place + 2 :])) if _MODULE.fullmatch(following) else None
        if word.endswith(".py") and not word.startswith("-"):
            return PythonCall(script=word, rest=tuple(words[place + 1 :]))
    return None


def _env(words: tuple[str, ...]) -> tuple[Wrapper, tuple[str, ...]]:
    """`env [-i] [-u NAME] [-C FOLDER] [NAME=VALUE …] COMMAND` (env(1)). Strings that it splits itself (`-S`) are not read."""
    clears, unsets, folder, place = False, list[str](), None, 1
    while place < len(words) and words[place].startswith("-"):
        word, place = words[place], place + 1
        following = words[place] if place < len(words) else ""
        if word == "--":
            break
        if word in ("-", "-i", "--ignore-environment"):
            clears = True
        elif word in ("-u", "--unset", "-C", "--chdir"):
            unsets, folder = ([*unsets, following], folder) if word in ("-u", "--unset") else (unsets, following)
            place += 1
        elif word.startswith(("--unset=", "--chdir=")):
            value = word.partition("=")[2]
            unsets, folder = ([*unsets, value], folder) if word.startswith("--unset") else (unsets, value)
        elif word not in ("-v", "--debug"):
            return Wrapper(words), ()
    sets: dict[str, str] = {}
    while place < len(words) and "=" in words[place]:
        name, _, value = words[place].partition("=")
        sets[name], place = value, place + 1
    return Wrapper(words, sets, tuple(unsets), clears, folder), words[place:]


def _after(words: tuple[str, ...], valued: str, operands: int) -> tuple[str, ...]:
    """The words after the options and operands of a wrapper; none when that is not clear."""
    place = 1
    while place < len(words) and words[place].startswith("-") and len(words[place]) > 1:
        word, place = words[place], place + 1
        if word == "--":
            break
        if word.startswith("--"):
            if "=" not in word and word not in LONG_FLAGS:
                return ()
        elif word[1] in valued and len(word) == 2:
            place += 1
    return words[place + operands :]
