"""Text of logs and command lines made safe for a terminal: escape sequences and control codes are removed."""

from __future__ import annotations

from typing import Literal

from hangtop.common.late_pattern import late_pattern

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be"]

LONGEST_LINE = 8_192
"""At most this many bytes of a line are decoded and matched; of a longer one also the part around a hit."""

_BOMS: dict[bytes, Encoding] = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

# ECMA-48: CSI, then OSC/DCS/SOS/PM/APC strings up to BEL or ST, then two-byte escapes. 8-bit forms included. A string without its
# end goes up to the next escape, as terminals break it off there; were it no match, many of them would cost quadratic time.
ESCAPES = late_pattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\r\n]*+(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_WHOLE_SEQUENCES = late_pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\))")
# C0 without tab, DEL, C1, line separators, byte order mark, and the marks that turn the writing direction round.
_CONTROLS = late_pattern("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def without_sequences(text: str) -> str:
    """The text without whole escape sequences, colours above all; control codes and line ends stay."""
    return _WHOLE_SEQUENCES.sub("", text) if "\x1b" in text else text


def without_escapes(text: str) -> str:
    """The text without escape sequences and control codes; tabs stay, since some prefixes contain them."""
    if text.isprintable():
        return text
    if "\x1b" in text or not text.isascii():
        text = ESCAPES.sub("", text)
    return _CONTROLS.sub("", text)


def clean_text(text: str) -> str:
    """The text as it may be shown: one line, no escape sequence, no control code, tabs as blanks."""
    return without_escapes(text).replace("\t", "    ")


def decode(raw: bytes, encoding: Encoding = "utf-8") -> str:
    """The text of the first `LONGEST_LINE` bytes of a line; bytes that are no text become U+FFFD."""
    return raw[:LONGEST_LINE].decode(encoding, "replace")


def encoding_of(start: bytes) -> Encoding:
    """The encoding of a file by its first bytes (PowerShell's `tee` writes UTF-16 with a byte order mark)."""
    return _BOMS.get(start[:2], "utf-8")
