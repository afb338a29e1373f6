"""Lines that are JSON objects: a message wrapped by the log of a container or service, or the entry of a structured logger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from hangtop.common.clean_text import without_escapes

_MESSAGE = ("log", "MESSAGE", "message", "msg", "event")
_TIME = ("time", "ts", "timestamp", "@timestamp", "asctime", "__REALTIME_TIMESTAMP")
_LEVEL = ("level", "levelname", "lvl", "severity")
_RANK = ("rank", "global_rank")
_WHO = ("local_rank", "world_size", "host", "hostname", "_HOSTNAME", "pid", "_PID")
_DATA = frozenset({"prompt", "response", "completion", "messages", "content", "text", "input", "output"})
"""An object with one of these keys is an example or an answer of a model, not a log entry."""

_MOST_CHARS = 300
_MOST_DIGITS = 6
_LATEST_S = 1e11
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def opened(text: str) -> tuple[dict[str, Any], str] | None:
    """The fields of `Prefix` that the object tells, and its message, with other values behind it as `key=value`; `None` if the
    text is no such object."""
    if not (text.startswith('{"') and text.endswith("}")):
        return None
    try:
        found = _decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    time, level = _first(found, _TIME), _first(found, _LEVEL)
    if (time is None and level is None) or _DATA & found.keys():
        return None
    message = _first(found, _MESSAGE)
    said = {
        "time": _stamp(time),
        "level": level if isinstance(level, str) else None,
        "rank": _number(_first(found, _RANK)),
        "local_rank": _number(found.get("local_rank")),
        "stream": found.get("stream"),
    }
    foreign = found.keys() & {"log", "MESSAGE"}
    words = [message.rstrip("\n") if isinstance(message, str) else "", *(() if foreign else _pairs(found))]
    return {name: value for name, value in said.items() if value is not None}, without_escapes(" ".join(filter(None, words)))


def _first(found: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((found[key] for key in keys if key in found), None)


def _pairs(found: Mapping[str, Any], *, inner: bool = False) -> Iterator[str]:
    """The other values, as `key=value`. Those of an inner object count as its own: `"metrics": {"loss": 1.2}`."""
    for key, value in found.items():
        if isinstance(value, dict) and not inner:
            yield from _pairs(value, inner=True)
        elif key not in (*_MESSAGE, *_TIME, *_LEVEL, *_RANK, *_WHO) and isinstance(value, str | int | float):
            yield f"{key}={str(value)[:_MOST_CHARS]}"


def _number(value: Any) -> int | None:
    """A rank: text or number, and small."""
    text = str(value)
    return int(text) if len(text) <= _MOST_DIGITS and text.isascii() and text.isdigit() else None


def _stamp(value: Any) -> str | None:
    """A time as a log would write it. Numbers are seconds, milliseconds, microseconds or nanoseconds since 1970."""
    text = str(value)
    if isinstance(value, str) and not text.isdecimal():
        return value
    try:
        seconds = float(text)
    except ValueError:
        return None
    for _ in range(3):
        seconds = seconds / 1e3 if seconds > _LATEST_S else seconds
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if 1e9 < seconds <= _LATEST_S else None
