"""Command lines, paths and environments as text that JSON can hold, and back to the same bytes. Pure.

To the kernel they are bytes. UTF-8 stays as it is; every other byte becomes a private-use character, U+10DC80 to U+10DCFF.
(Python uses lone surrogates, which JSON may not hold.) These characters are not printable, so the screen shows a stand-in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

_PLANE = 0x10_0000
"""The distance from a surrogate U+DCxx to its private-use character U+10DCxx."""
_FIRST, _LAST = _PLANE + 0xDC80, _PLANE + 0xDCFF
_TO_PRIVATE = {code: code + _PLANE for code in range(0xDC80, 0xDD00)}
_TO_SURROGATE = {private: code for code, private in _TO_PRIVATE.items()}


def text_of(raw: bytes) -> str:
    """The bytes as raw text; `bytes_of` is the inverse."""
    text = raw.decode("utf-8", "surrogateescape")
    if any(_FIRST <= ord(character) <= _LAST for character in text):  # real ones: their bytes are escaped instead
        text = "".join(_escaped(character) if _FIRST <= ord(character) <= _LAST else character for character in text)
    return text.translate(_TO_PRIVATE)


def bytes_of(text: str) -> bytes:
    """The bytes of a raw text, for the kernel."""
    return text.translate(_TO_SURROGATE).encode("utf-8", "surrogateescape")


def from_os(text: str) -> str:
    """The raw text of a string that Python got from the system: an argument, a path, a value of `os.environ`."""
    return text_of(os.fsencode(text))


def to_os(text: str) -> str:
    """The string for a Python call that takes a path."""
    return os.fsdecode(bytes_of(text))


def raw_environ(environ: Mapping[str, str]) -> dict[bytes, bytes]:
    """The environment as bytes, for `execve`."""
    return {bytes_of(name): bytes_of(value) for name, value in environ.items()}


def _escaped(character: str) -> str:
    return character.encode().decode("ascii", "surrogateescape")
