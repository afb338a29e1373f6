"""A command line as a shell reads it: words, operators, simple commands. Pure.

The grammar is that of POSIX, "Shell Command Language" (2.2 quoting, 2.3 tokens, 2.9 commands). Nothing is expanded, because
only a running shell knows the value of a variable or the matches of a pattern: such a word has the kind `expanded`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

BLANK = " \t\r"
OPERATOR = re.compile(r"\d*(?:<<<|<<-?|<&|<>|>>|>&|>\||<|>)|&>>?|\|\||&&|\|&|;;|[|&;()\n]")
REDIRECTION = re.compile(r"\d*[<>]|&>")
EXPANDS = frozenset("$`*?[")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
BRACES = re.compile(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
ESCAPED_IN_QUOTES = frozenset('$`"\\')


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


class SimpleCommand(Struct, frozen=True):
    """A simple command without its redirections. `needed`: no alternative (`||`) follows for the case that it fails."""

    words: tuple[Token, ...]
    needed: bool = True


def tokens(text: str) -> list[Token]:
    """Raises `CommandError` for open quotes."""
    found, place = list[Token](), 0
    while place < len(text):
        if text[place] in BLANK:
            place += 1
        elif text[place] == "#":
            place = text.find("\n", place) if "\n" in text[place:] else len(text)
        elif operator := OPERATOR.match(text, place):
            found.append(Token(operator[0], operator[0], "operator"))
            place = operator.end()
        else:
            token, place = _word(text, place)
            found.append(token)
    return found


def simple_commands(found: Sequence[Token]) -> Iterator[SimpleCommand]:
    """The commands that run one after another or in a pipe, up to the first that may not run: a group, a function, an alternative
    (`||`), a here-document (`<<`)."""
    words, skips = list[Token](), False
    for token in found:
        if token.kind != "operator":
            words = words if skips else [*words, token]
            skips = False
        elif token.text in ("(", ")", ";;") or "<<" in token.text:
            return
        elif REDIRECTION.match(token.text):
            skips = True
        else:
            if words:
                yield SimpleCommand(tuple(words), needed=token.text != "||")
            if token.text == "||":
                return
            words = []
    if words:
        yield SimpleCommand(tuple(words))


def _word(text: str, start: int) -> tuple[Token, int]:
    """The word that begins there, and the place after it."""
    parts, place, expands = list[str](), start, False
    while place < len(text) and text[place] not in BLANK and not _ends(text, place, start):
        character = text[place]
        if character == "'":
            end = _closing(text, "'", place + 1)
            parts.append(text[place + 1 : end])
            place = end + 1
        elif character == '"':
            part, more, place = _double_quoted(text, place + 1)
            parts.append(part)
            expands = expands or more
        elif character == "\\":
            parts.append(text[place + 1 : place + 2].replace("\n", ""))
            place += 2
        else:
            expands = expands or _expands(text, place, start)
            parts.append(character)
            place += 1
    return Token(text[start:place], "".join(parts), "expanded" if expands else "word"), place


def _ends(text: str, place: int, start: int) -> bool:
    """Whether an operator begins here. Digits belong to one only where they are a whole word before `<` or `>`."""
    return (match := OPERATOR.match(text, place)) is not None and (place == start or not match[0][0].isdigit())


def _double_quoted(text: str, place: int) -> tuple[str, bool, int]:
    """(the text in the quotes, whether a shell expands part of it, the place after the quotes)."""
    parts, expands = list[str](), False
    while place < len(text) and text[place] != '"':
        if text[place] == "\\" and text[place + 1 : place + 2] in ESCAPED_IN_QUOTES | {"\n"}:
            parts.append(text[place + 1].replace("\n", ""))
            place += 2
            continue
        expands = expands or text[place] in "$`"
        parts.append(text[place])
        place += 1
    return "".join(parts), expands, _closing(text, '"', place) + 1


def _closing(text: str, quote: str, place: int) -> int:
    end = text.find(quote, place)
    if end < 0:
        raise CommandError("no closing quotation")
    return end


def _expands(text: str, place: int, start: int) -> bool:
    """Whether this character, outside of quotes, makes a shell expand the word."""
    character = text[place]
    if character == "~":
        return place == start or text[place - 1] in "=:"
    return character in EXPANDS or (character == "{" and BRACES.match(text, place) is not None)
