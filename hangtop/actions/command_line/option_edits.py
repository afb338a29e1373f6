"""Options of a command line, changed in place or added. Pure."""

from __future__ import annotations

import os
import re
from typing import Literal

from msgspec import Struct

from hangtop.actions.command_line.wrapped import innermost

SCRIPTS = frozenset("bash sh dash zsh ksh fish".split())


class Option(Struct, frozen=True, forbid_unknown_fields=True):
    """`--name value` (`flag`), or `name=value` in Hydra's style. `add`: append it when the command does not have it yet.

    In the name of a flag `-` and `_` are the same, as in most launchers.
    """

    name: str
    value: str
    style: Literal["flag", "hydra"] = "flag"
    add: bool = True

    @property
    def shown(self) -> str:
        """As a person types it."""
        return f"{self.name} {self.value}" if self.style == "flag" else f"{self.name}={self.value}"


def has_option(argv: tuple[str, ...], option: Option) -> bool:
    """Whether the command line gives it."""
    return any(_is(word, option) for word in argv)


def with_option(argv: tuple[str, ...], option: Option) -> tuple[str, ...] | None:
    """The command line with this option; `None` when it cannot be added, because a shell script may not pass it on."""
    if has_option(argv, option):
        return _replaced(argv, option)
    program = innermost(argv)
    if not option.add or not program or os.path.basename(program[0]) in SCRIPTS:
        return None
    return (*argv, *((option.name, option.value) if option.style == "flag" else (f"++{option.name}={option.value}",)))


def _replaced(argv: tuple[str, ...], option: Option) -> tuple[str, ...]:
    """Replace every occurrence: programs differ in whether the first or the last one counts."""
    words: list[str] = []
    value_follows = False
    for word in argv:
        if value_follows:
            words.append(option.value)
            value_follows = False
        elif not _is(word, option):
            words.append(word)
        elif option.style == "hydra" or "=" in word:
            words.append(f"{word.partition('=')[0]}={option.value}")
        else:
            words.append(word)
            value_follows = True
    return tuple(words)


def _is(word: str, option: Option) -> bool:
    name = word.partition("=")[0]
    if option.style == "hydra":
        return "=" in word and re.sub(r"^\+{1,2}", "", name) == option.name
    return name.startswith("--") and name.replace("_", "-") == option.name.replace("_", "-")
