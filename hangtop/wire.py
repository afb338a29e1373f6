"""Readings and asks as JSON lines: the pipe between probe and screen, and the format of recordings."""

from __future__ import annotations

from functools import cache
from typing import Any

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


@cache
def _decoder(of: Any) -> msgspec.json.Decoder[Any]:
    """Made when it is first needed: that of readings takes 5 ms, and a probe reads none."""
    return msgspec.json.Decoder(of)


def encode(record: Reading | Ask | WatchSpec | Header) -> bytes:
    """One JSON line, its line end included."""
    return _encoder.encode(record) + b"\n"


def decode_reading(line: bytes) -> Reading:
    try:
        reading: Reading = _decoder(Reading).decode(line)
    except msgspec.DecodeError as error:
        raise WireError(f"not a reading of schema {SCHEMA}: {error}") from error
    return reading


def decode_ask(line: bytes) -> Ask:
    try:
        ask: Ask = _decoder(Ask).decode(line)
    except msgspec.DecodeError as error:
        raise WireError(f"not an ask of schema {SCHEMA}: {error}") from error
    return ask


def decode_spec(line: bytes) -> WatchSpec:
    try:
        spec: WatchSpec = _decoder(WatchSpec).decode(line)
    except msgspec.DecodeError as error:
        raise WireError(f"not a watch spec of schema {SCHEMA}: {error}") from error
    return spec


def decode_header(line: bytes) -> Header:
    try:
        header: Header = _decoder(Header).decode(line)
    except msgspec.DecodeError as error:
        raise WireError(f"not a hangtop recording: {error}") from error
    if header.schema != SCHEMA:
        raise WireError(f"recording has schema {header.schema}, this hangtop reads {SCHEMA}")
    return header
