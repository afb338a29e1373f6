"""Command lines, paths and environments as text that JSON can carry, and the same bytes again from that text. Pure.

To the kernel they are bytes. What is UTF-8 stays as it reads; every other byte becomes one character of private use, U+10DC80 to
U+10DCFF (Python's own way, a lone surrogate, is no Unicode that JSON may hold). Such characters are not printable, so a screen
shows a stand-in for them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

_PLANE = 0x10_0000
"""A surrogate U+DCxx plus that much: U+10DCxx."""
_FIRST, _LAST = _PLANE + 0xDC80, _PLANE + 0xDCFF
_TO_PRIVATE = {code: code + _PLANE for code in range(0xDC80, 0xDD00)}
_TO_SURROGATE = {private: code for code, private in _TO_PRIVATE.items()}


def text_of(raw: bytes) -> str:
    """The bytes as text; `bytes_of` gives them back."""
    text = raw.decode("utf-8", "surrogateescape")
    if any(_FIRST <= ord(character) <= _LAST for character in text):  # real ones: their bytes are escaped instead
        text = "".join(_escaped(character) if _FIRST <= ord(character) <= _LAST else character for character in text)
    return text.translate(_TO_PRIVATE)


def bytes_of(text: str) -> bytes:
    """What the kernel is given."""
    return text.translate(_TO_SURROGATE).encode("utf-8", "surrogateescape")


def from_os(text: str) -> str:
    """Of a string that Python got from the system: an argument, a path, a value of `os.environ`."""
    return text_of(os.fsencode(text))


def to_os(text: str) -> str:
    """For a call of Python that takes a path."""
    return os.fsdecode(bytes_of(text))


def raw_environ(environ: Mapping[str, str]) -> dict[bytes, bytes]:
    """For `execve`."""
    return {bytes_of(name): bytes_of(value) for name, value in environ.items()}


def _escaped(character: str) -> str:
    return character.encode().decode("ascii", "surrogateescape")
