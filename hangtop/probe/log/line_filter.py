"""Whether a line matches a search: plain text in any case, or a regex, which may be hostile."""

from __future__ import annotations

import json
import re
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

LIMIT_S = 2.0
"""For one regex on some hundred lines. A normal one takes a thousandth of this."""


class SearchProblem(Exception):
    """The search is not possible. The message is one line that says why."""


class PlainText:
    """Plain text without regard to case. `word`: bytes that every matching row holds, to skip most rows quickly; in lower case
    when `any_case`."""

    any_case = True

    def __init__(self, pattern: str) -> None:
        self._folded = pattern.casefold()
        self.word = _longest_word(pattern.lower())

    def matching(self, texts: Sequence[str]) -> list[int]:
        """The indices of the texts that match."""
        return [number for number, text in enumerate(texts) if self._folded in text.casefold()]

    def close(self) -> None:
        """Nothing was started for the search."""


class Regex:
    """A Python regex, matched in a process that is killed when it takes too long."""

    def __init__(self, pattern: str) -> None:
        try:
            compiled = re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise SearchProblem(f"not a regex: {error}: {pattern!r}") from error
        self.any_case = bool(compiled.flags & re.IGNORECASE)
        fixed = max(_fixed_texts(pattern), key=len, default="")
        self.word = _longest_word(fixed.lower() if self.any_case else fixed)
        self._pattern = pattern
        self._process: subprocess.Popen[bytes] | None = None

    def matching(self, texts: Sequence[str]) -> list[int]:
        """As for plain text. Raises `SearchProblem`."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        line = b""
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(texts).encode() + b"\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], LIMIT_S)[0]:
                self.close()
                raise SearchProblem(f"this regex takes too long on these lines (nested repeats?): {self._pattern!r}")
            line = process.stdout.readline()
        if not line:
            raise SearchProblem(f"the search for {self._pattern!r} ended early: it needs too much time or memory")
        numbers: list[int] = json.loads(line)
        return numbers

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        program = str(Path(__file__).with_name("regex_child.py"))
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(self._pattern).encode() + b"\n")
        return process


LineFilter = PlainText | Regex


def matcher_of(pattern: str | None, *, regex: bool) -> LineFilter | None:
    """`None` when every line is wanted. Raises `SearchProblem`."""
    if not pattern:
        return None
    return Regex(pattern) if regex else PlainText(pattern)


def _longest_word(text: str) -> bytes:
    """The longest word without non-ASCII letters that have two cases. Only one word, because between words the raw row may hold
    colours or a tab that the shown line does not."""
    plain = "".join(char if char.isascii() or (char.lower() == char.upper() and char != "\ufffd") else " " for char in text)
    return max(plain.split(), key=len, default="").encode()


def _fixed_texts(pattern: str) -> list[str]:
    """Texts that every match contains: runs of plain characters on the top level of the regex."""
    parser: Any = re._parser  # type: ignore[attr-defined]
    runs = [""]
    for op, arg in parser.parse(pattern):
        if str(op) == "LITERAL":
            runs[-1] += chr(arg)
        else:
            runs.append("")
    return runs
