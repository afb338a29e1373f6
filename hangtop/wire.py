"""Readings and asks as JSON lines: the pipe between probe and screen, and the format of recordings."""

from __future__ import annotations

import msgspec

from hangtop.records.ask import Ask
from hangtop.records.reading import Reading
from hangtop.spec import WatchSpec

SCHEMA = 1


class WireError(ValueError):
    """A line that is no reading of this schema; the message says what is wrong and where."""


class Header(msgspec.Struct, frozen=True, omit_defaults=True, tag="hangtop", tag_field="file"):
    """First line of a recording. `spec` is what was watched, so that a replay judges by the same limits."""

    schema: int
    version: str
    at: float
    spec: WatchSpec


_encoder = msgspec.json.Encoder()
_reading = msgspec.json.Decoder(Reading)
_ask: msgspec.json.Decoder[Ask] = msgspec.json.Decoder(Ask)
_spec = msgspec.json.Decoder(WatchSpec)
_header = msgspec.json.Decoder(Header)


def encode(record: Reading | Ask | WatchSpec | Header) -> bytes:
    """One JSON line, its line end included."""
    return _encoder.encode(record) + b"\n"


def decode_reading(line: bytes) -> Reading:
    try:
        return _reading.decode(line)
    except msgspec.DecodeError as error:
        raise WireError(f"not a reading of schema {SCHEMA}: {error}") from error


def decode_ask(line: bytes) -> Ask:
    try:
        return _ask.decode(line)
    except msgspec.DecodeError as error:
        raise WireError(f"not an ask of schema {SCHEMA}: {error}") from error


def decode_spec(line: bytes) -> WatchSpec:
    try:
        return _spec.decode(line)
    except msgspec.DecodeError as error:
        raise WireError(f"not a watch spec of schema {SCHEMA}: {error}") from error


def decode_header(line: bytes) -> Header:
    try:
        header = _header.decode(line)
    except msgspec.DecodeError as error:
        raise WireError(f"not a hangtop recording: {error}") from error
    if header.schema != SCHEMA:
        raise WireError(f"recording has schema {header.schema}, this hangtop reads {SCHEMA}")
    return header
