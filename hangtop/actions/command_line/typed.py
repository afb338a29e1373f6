"""A command line as a person types it: read as a shell reads it, into words to run, or left to a shell. Pure.

The grammar is that of POSIX, "Shell Command Language" (2.2 quoting, 2.3 tokens, 2.9 commands). Nothing is expanded, because
only a running shell knows the value of a variable or the matches of a pattern: such a word has the kind `expanded`. A command
with pipes, `&&`, redirections, variables, patterns or built-in commands goes to a shell as it was typed; a plain one runs
without one.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

BETWEEN_WORDS = re.compile(r"[ \t\r]+|#[^\n]*")
OPERATOR = re.compile(r"\d*(?:<<<|<<-?|<&|<>|>>|>&|>\||<|>)|&>>?|\|\||&&|\|&|;;|[|&;()\n]")
REDIRECTION = re.compile(r"\d*[<>]|&>")
PIECE = re.compile(
    r"""(?P<bare>[^ \t\r\n'"\\|&;()<>]+)|'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.?)""", re.DOTALL
)
"""A part of a word: without quotes, in quotes, or one character after a backslash."""
ESCAPE_IN_QUOTES = re.compile(r'\\(?:\n|([$`"\\]))')
EXPANDS = re.compile(r"[$`*?[]|(?<=[=:])~|\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
"""Outside of quotes; so does `~` at the beginning of a word."""
EXPANDS_IN_QUOTES = re.compile(r"(?:[^$`\\]|\\.)*[$`]", re.DOTALL)
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
POSIX_SHELLS = frozenset("sh bash dash zsh ksh mksh ash".split())
PLAIN_SHELL = "/bin/sh"
BUILT_IN = frozenset(
    ". : alias bg break builtin case cd command continue coproc declare dirs disown do done elif else esac eval exec exit".split()
    + "export fc fg fi for function getopts hash if in jobs let local logout mapfile popd pushd read readonly return".split()
    + "select set shift shopt source then time times trap type typeset ulimit umask unalias unset until wait while".split()
    + ["[[", "{", "}", "!"]
)
"""Words that a shell executes itself. A program of the same name, if there is one, does something else."""


class CommandError(ValueError):
    """The text starts nothing. The message is one line."""


class Token(Struct, frozen=True):
    """`raw`: as it was typed. `text`: without its quotes. `kind`: a literal word, a word that a shell expands, or an operator."""

    raw: str
    text: str
    kind: Literal["word", "expanded", "operator"]

    @property
    def assigns(self) -> bool:
        """Whether it sets a variable, where it stands before a command."""
        return self.kind != "operator" and ASSIGNMENT.match(self.raw) is not None


def command(text: str, shell: str = "") -> tuple[str, ...]:
    """The words to run; variables set before a plain command become `env NAME=value`. `shell`: the run's SHELL, for a command
    that needs one: where it does not read POSIX, the system's is taken. Raises `CommandError`."""
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
        return (shell if is_shell(shell) else PLAIN_SHELL, "-c", text.strip())
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
    sets = [ASSIGNMENT.match(word) is not None for word in words]
    return ("env", *words) if sets[:1] == [True] and not all(sets) else tuple(words)


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
        if not ASSIGNMENT.match(pair):
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


def tokens(text: str) -> list[Token]:
    """Raises `CommandError` for open quotes."""
    found, place = list[Token](), 0
    while place < len(text):
        if between := BETWEEN_WORDS.match(text, place):
            place = between.end()
            continue
        operator = OPERATOR.match(text, place)
        found.append(_word(text, place) if operator is None else Token(operator[0], operator[0], "operator"))
        place += len(found[-1].raw)
    return found


def simple_commands(found: Sequence[Token]) -> Iterator[tuple[Token, ...]]:
    """The commands that run one after another or in a pipe, without their redirections, up to the first that may fail (`||`
    follows) or may not run: a group, a function, a here-document (`<<`)."""
    words, skips = list[Token](), False
    for token in (*found, Token("\n", "\n", "operator")):
        if token.kind != "operator":
            words = words if skips else [*words, token]
            skips = False
        elif token.text in ("(", ")", ";;", "||") or "<<" in token.text:
            return
        elif REDIRECTION.match(token.text):
            skips = True
        else:
            if words:
                yield tuple(words)
            words = []


def _word(text: str, start: int) -> Token:
    """The word that begins there. Digits belong to an operator only where they are a whole word before `<` or `>`."""
    parts, place, expands = list[str](), start, text[start] == "~"
    while piece := PIECE.match(text, place):
        if piece["double"] is not None:
            parts.append(ESCAPE_IN_QUOTES.sub(r"\1", piece["double"]))
            expands = expands or EXPANDS_IN_QUOTES.match(piece["double"]) is not None
        elif piece["bare"]:
            parts.append(piece["bare"])
            found = EXPANDS.search(text, place)
            expands = expands or (found is not None and found.start() < piece.end())
        else:
            parts.append(piece["single"] or (piece["escaped"] or "").replace("\n", ""))
        place = piece.end()
    if text[place : place + 1] in ("'", '"'):
        raise CommandError("no closing quotation")
    return Token(text[start:place], "".join(parts), "expanded" if expands else "word")
