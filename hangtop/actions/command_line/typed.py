"""A command line as a person types it: the words that are run, or the shell that must read it. Pure.

What a shell would do more with than split it (pipes, `&&`, redirections, variables, patterns, built-in commands) is given to a
shell as it was typed; a plain command is run as it is, without one.
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
"""Words that a shell does itself, and whose programs, where there are any, do something else."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def command(text: str, shell: str = "") -> tuple[str, ...]:
    """The words to run. `shell`: that of the run (its SHELL), for what needs one. Raises `CommandError`.

    Variables set before a plain command stay with it, by way of `env`.
    """
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
    """The words of a line that no shell reads: quotes count, and nothing is expanded. Raises `CommandError`."""
    try:
        found = tuple(shlex.split(text))
    except ValueError as error:
        raise CommandError(str(error).lower()) from error
    if not found:
        raise CommandError("an empty command starts nothing")
    return found


def with_variables(words: Sequence[str]) -> tuple[str, ...]:
    """Words that a shell has split already: variables set before the command stay with it, by way of `env`."""
    before = next((number for number, word in enumerate(words) if not ASSIGNMENT.match(word)), len(words))
    return ("env", *words) if 0 < before < len(words) else tuple(words)


def posix_shell(shell: str) -> str:
    """The shell of the run where it reads POSIX, else the system's."""
    return shell if is_shell(shell) else PLAIN_SHELL


def is_shell(program: str) -> bool:
    """Whether it is one that reads POSIX, by its name."""
    return os.path.basename(program) in POSIX_SHELLS


def variables(pairs: Sequence[str]) -> dict[str, str]:
    """`NAME=value` each. Raises `CommandError` for what is none, in one line."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise CommandError(f"{pair!r} is no NAME=value")
        if not _NAME.fullmatch(name):
            raise CommandError(f"{name!r} is no name of a variable: letters, digits and _, no digit first")
        found[name] = value
    return found


def variables_in(text: str) -> dict[str, str]:
    """The same of one line, with the quotes of a shell; what a shell would expand is no value here. Raises `CommandError`."""
    found = tokens(text)
    for token in found:
        if token.kind != "word":
            raise CommandError(f"{token.raw!r} would need a shell: quote it with ' where it is meant as it stands")
    return variables([token.text for token in found])


def shown(given: Mapping[str, str]) -> str:
    """As a person would type them."""
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())
