"""Readings and asks as JSON lines: the pipe between probe and screen, and the format of recordings."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import msgspec

from hangtop.records.ask import Ask
from hangtop.records.reading import Reading, Value
from hangtop.records.watch_spec import WatchSpec

SCHEMA = 1
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)
"""What msgspec raises for a line that is no record, and for one whose texts are not UTF-8."""


class WireError(ValueError):
    """A line that is no record of this schema; the message says what is wrong and where."""


class Header(msgspec.Struct, frozen=True, omit_defaults=True, tag="hangtop", tag_field="file"):
    """First line of a recording. `spec` is what was watched, so that a replay judges by the same limits."""

    schema: int
    version: str
    at: float
    spec: WatchSpec


class _Wrapped(msgspec.Struct, frozen=True):
    """A reading whose value is not decoded yet."""

    source: str
    host: str
    at: float
    value: msgspec.Raw


class _Tagged(msgspec.Struct, frozen=True):
    """The tag of a value."""

    type: str


_encoder = msgspec.json.Encoder()
_KINDS: dict[str, type[Value]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Value)}


@cache
def _decoder(of: Any) -> msgspec.json.Decoder[Any]:
    """Made at its first use. Decoders for all kinds of readings take 7 ms, a fiftieth of the screen's start; most kinds come
    later or never."""
    return msgspec.json.Decoder(of)


def encode(record: Reading | Ask | WatchSpec | Header) -> bytes:
    """One JSON line, its line end included."""
    return _encoder.encode(record) + b"\n"


def decode_reading(line: bytes) -> Reading:
    try:
        wrapped: _Wrapped = _decoder(_Wrapped).decode(line)
        tag: str = _decoder(_Tagged).decode(wrapped.value).type
        if (kind := _KINDS.get(tag)) is None:
            raise WireError(f"not a reading of schema {SCHEMA}: there is no kind {tag!r}")
        value: Value = _decoder(kind).decode(wrapped.value)
    except UNREADABLE as error:
        raise WireError(f"not a reading of schema {SCHEMA}: {error}") from error
    return Reading(wrapped.source, wrapped.host, wrapped.at, value)


def _decoded(line: bytes, shape: Any, what: str) -> Any:
    try:
        return _decoder(shape).decode(line)
    except UNREADABLE as error:
        raise WireError(f"not {what}: {error}") from error


def decode_ask(line: bytes) -> Ask:
    ask: Ask = _decoded(line, Ask, f"an ask of schema {SCHEMA}")
    return ask


def decode_spec(line: bytes) -> WatchSpec:
    spec: WatchSpec = _decoded(line, WatchSpec, f"a watch spec of schema {SCHEMA}")
    return spec


def decode_header(line: bytes) -> Header:
    header: Header = _decoded(line, Header, "a hangtop recording")
    if header.schema != SCHEMA:
        raise WireError(f"recording has schema {header.schema}, this hangtop reads {SCHEMA}")
    return header
