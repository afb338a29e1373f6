"""A command line as a person types it: the words to run, or the shell that must read it. Pure.

A command with pipes, `&&`, redirections, variables, patterns or built-in commands goes to a shell as it was typed. A plain
command runs without one.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence

from hangtop.actions.command_line.shell_text import ASSIGNMENT, CommandError, tokens

POSIX_SHELLS = frozenset("sh bash dash zsh ksh mksh ash".split())
PLAIN_SHELL = "/bin/sh"
BUILT_IN = frozenset(
    ". : alias bg break builtin case cd command continue coproc declare dirs disown do done elif else esac eval exec exit".split()
    + "export fc fg fi for function getopts hash if in jobs let local logout mapfile popd pushd read readonly return".split()
    + "select set shift shopt source then time times trap type typeset ulimit umask unalias unset until wait while".split()
    + ["[[", "{", "}", "!"]
)
"""Words that a shell executes itself. A program of the same name, if there is one, does something else."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def command(text: str, shell: str = "") -> tuple[str, ...]:
    """The words to run; variables set before a plain command become `env NAME=value`. `shell`: the run's SHELL, for a command
    that needs one. Raises `CommandError`."""
    found = tokens(text)
    if not found:
        raise CommandError("an empty command starts nothing")
    if found[-1].text == "&" and found[-1].kind == "operator":
        raise CommandError("the & at its end sends it to the background: leave it out, the run goes on when hangtop ends")
    before = next((number for number, token in enumerate(found) if not token.assigns), len(found))
    if before == len(found):
        raise CommandError("it sets variables and starts nothing")
    words = tuple(token.text for token in found)
    sets, rest = words[:before], words[before:]
    if found[before].raw == "exec" and len(rest) > 1 and not rest[1].startswith("-"):
        rest = rest[1:]
    if any(token.kind != "word" for token in found) or rest[0] in BUILT_IN:
        return (posix_shell(shell), "-c", text.strip())
    return ("env", *sets, *rest) if sets else rest


def plain_words(text: str) -> tuple[str, ...]:
    """The words of a line that no shell reads: quotes work, nothing is expanded. Raises `CommandError`."""
    try:
        found = tuple(shlex.split(text))
    except ValueError as error:
        raise CommandError(str(error).lower()) from error
    if not found:
        raise CommandError("an empty command starts nothing")
    return found


def with_variables(words: Sequence[str]) -> tuple[str, ...]:
    """Words that a shell has already split; variables set before the command become `env NAME=value`."""
    before = next((number for number, word in enumerate(words) if not ASSIGNMENT.match(word)), len(words))
    return ("env", *words) if 0 < before < len(words) else tuple(words)


def posix_shell(shell: str) -> str:
    """The shell of the run where it reads POSIX, else the system's."""
    return shell if is_shell(shell) else PLAIN_SHELL


def is_shell(program: str) -> bool:
    """Whether this program is a POSIX shell, by its name."""
    return os.path.basename(program) in POSIX_SHELLS


def variables(pairs: Sequence[str]) -> dict[str, str]:
    """A variable of each `NAME=value`. Raises `CommandError`, in one line, for anything else."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise CommandError(f"{pair!r} is not NAME=value")
        if not _NAME.fullmatch(name):
            raise CommandError(f"{name!r} is not the name of a variable: letters, digits and _, no digit first")
        found[name] = value
    return found


def variables_in(text: str) -> dict[str, str]:
    """The variables of a line with shell quotes. Raises `CommandError`, also for a value that a shell would expand."""
    found = tokens(text)
    for token in found:
        if token.kind != "word":
            raise CommandError(f"{token.raw!r} would need a shell: quote it with ' where it is meant as it stands")
    return variables([token.text for token in found])


def shown(given: Mapping[str, str]) -> str:
    """As a person would type them."""
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())
