"""Which commands that tell causes apart hangtop may run itself: read-only programs in forms that cannot write. Pure.

No shell reads them. What a shell would expand, redirect or start besides is not run at all: a person may copy it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import resources

from msgspec import Struct

from hangtop.common.decode_toml import decode_toml
from hangtop.records.advice import TellAsk, TellProgram

TOKEN = re.compile(
    r"(?P<blank>[ \t]+)"
    r"|(?P<comment>#.*)"
    r"|(?P<quiet>2>/dev/null(?![^ \t;|]))"
    r"|(?P<both>2>&1(?![^ \t;|]))"
    r"|(?P<then>;)"
    r"|(?P<pipe>\|(?![|&]))"
    r"|(?P<word>(?:'[^']*'|\"[^\"\\$`!]*\"|[\w@%+=:,./^-])+)"
)
"""All of a shell's language that is understood. A word holds nothing that a shell would change, but for its quotes."""
TIMEOUT = "timeout"
"""`timeout 5 df`: the limit is hangtop's own, for that program makes a process group that outlives its end."""


class Form(Struct, frozen=True, forbid_unknown_fields=True):
    """One form of a program, as in `harmless.toml`."""

    program: str
    flags: str = ""
    values: dict[str, str] = {}
    words: tuple[str, ...] = ()
    rest: str = ""
    reads: bool = False

    def fits(self, argv: Sequence[str]) -> bool:
        """Whether all arguments are of this form."""
        return argv[0] == self.program and self.operands(argv) is not None

    def operands(self, argv: Sequence[str]) -> list[str] | None:
        """The arguments that are no options; `None` when the form does not know one of them."""
        found, left = list[str](), iter(argv[1:])
        for word in left:
            if (value := self.values.get(word)) is not None:
                if not re.fullmatch(value, next(left, ""), re.ASCII):
                    return None
            elif not word.startswith("-"):
                found.append(word)
            elif not re.fullmatch(self.flags, word, re.ASCII):
                return None
        wanted = (*self.words, *(self.rest for _ in found[len(self.words) :]))
        known = len(found) >= len(self.words) and all(map(_is, wanted, found))
        return found if known else None

    def files(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The files whose content it reads."""
        return tuple((self.operands(argv) or ())[len(self.words) :]) if self.reads else ()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    form: tuple[Form, ...]


def _is(pattern: str, word: str) -> bool:
    return bool(pattern) and "\n" not in word and re.fullmatch(pattern, word) is not None


@lru_cache(maxsize=1)
def forms() -> tuple[Form, ...]:
    """All forms."""
    return decode_toml((resources.files("hangtop.remedies") / "harmless.toml").read_bytes(), _File).form


@lru_cache(maxsize=256)
def harmless(command: str) -> TellAsk | str:
    """The command as programs to be run without a shell; else why hangtop does not run it, for a person."""
    try:
        pipelines = tuple(tuple(map(_program, pipeline)) for pipeline in _pipelines(command))
    except _RefusedError as refused:
        return str(refused)
    return TellAsk(pipelines) if pipelines else "there is nothing to run"


class _RefusedError(Exception):
    """Why it is not run."""


class _Words(Struct):
    """One program of a pipeline, as it was written."""

    argv: list[str]
    quiet: bool = False


def _pipelines(command: str) -> Iterator[list[_Words]]:
    """What stands between `;`, each as its programs between `|`."""
    pipeline, at = [_Words([])], 0
    while at < len(command):
        token = TOKEN.match(command, at)
        if token is None:
            raise _RefusedError(f"a shell must read it ({command[at : at + 12]} …)")
        at = token.end()
        match token.lastgroup:
            case "word":
                pipeline[-1].argv += shlex.split(token[0])
            case "quiet":
                pipeline[-1].quiet = True
            case "pipe":
                pipeline.append(_Words([]))
            case "then":
                yield pipeline
                pipeline = [_Words([])]
    if pipeline != [_Words([])]:
        yield pipeline


def _program(words: _Words) -> TellProgram:
    """Raises `_RefusedError` for a program in no known form."""
    argv, within_s = words.argv, None
    if len(argv) > 2 and argv[0] == TIMEOUT and re.fullmatch("[0-9]", argv[1]):
        argv, within_s = argv[2:], float(argv[1])
    form = next((form for form in forms() if argv and form.fits(argv)), None)
    if form is None:
        known = bool(argv) and any(form.program == argv[0] for form in forms())
        name = " ".join(argv[:1]) or "an empty command"
        raise _RefusedError(f"{name} with these options may do more than read" if known else f"{name} may do more than read")
    return TellProgram(tuple(argv), form.files(argv), words.quiet, within_s)
