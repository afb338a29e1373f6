"""What a line says: its words, its numbers, and the times in it. Two lines with the same words are of one form."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from hangtop.common.late_pattern import late_pattern
from hangtop.logs.extract.wait_reports import NO_TOKEN

_VALUE = late_pattern(
    r"(?P<clock>\d+(?::\d\d)+(?:[.,]\d+)?)"
    r"|(?P<parts>(?<![\w.])(?:\d+ ?(?:h|hours?|m|mins?|minutes?)\b,? ?){1,2}\d+(?:\.\d+)? ?(?:s|secs?|seconds?)\b)"
    r"|(?P<number>(?<![\w.])-?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?|\d+(?:[.,]\d+)*)"
    r"(?P<unit> ?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b)?"
    r"|(?P<bar>(?P<sign>[#=█▓━.])(?P=sign){2,})"
)
_TELLS_TIME = late_pattern(r"(?i)(?:elapsed|uptime|waited|time|ts|timestamp|_s(?:ecs?|econds)?)\W{0,4}$")
"""A number behind such a word is a time without its unit, or with it in its name. It is one only if it moves as the clock
does."""
_ASKER = late_pattern(r'\S+:\d{1,5}(?= - "(?:GET|HEAD) /)')
"""Who asks a server of HTTP: each time from another port. GET changes nothing, so that the same question again is no news (RFC
9110, 9.2.1); POST may be work."""
_UNIX_S = (1e9, 4e9)
_PART = late_pattern(r"(?P<number>[\d.]+) ?(?P<unit>[hms])")
_NO_WORD = late_pattern(r"[^\w\0%]+")
_SECONDS = {"ms": 1e-3, "m": 60.0, "h": 3600.0}


class Said(Struct, frozen=True):
    """What a line says. `words`: without its numbers; `values`: its numbers; `times_s`: those that are written as a time."""

    words: str
    values: tuple[str, ...]
    times_s: tuple[float, ...]


@lru_cache(maxsize=256)
def said_in(text: str) -> Said:
    """The words, numbers and times of a line. Of what is drawn (`⠙`, `|/-\\`) nothing counts but the length of a bar."""
    values: list[str] = []
    times_s: list[float] = []
    if ' - "' in text:
        text = _ASKER.sub("", text)
    if "throughput: 0.0 " in text:
        text = NO_TOKEN.sub("no token", text)

    def take(found: re.Match[str]) -> str:
        if clock := found["clock"]:
            times_s.append(_clock_s(clock))
        elif parts := found["parts"]:
            times_s.append(_together_s(parts))
        elif (time_s := _time_s(found, text)) is not None:
            times_s.append(time_s)
        else:
            values.append(found["number"] or f"{found['sign']}{len(found['bar'])}")
        return "\0"

    words = _NO_WORD.sub(" ", _VALUE.sub(take, text)).strip()
    return Said(words, tuple(values), tuple(times_s))


def _time_s(found: re.Match[str], text: str) -> float | None:
    """The seconds that a number means, if it is written as a time or as a moment."""
    value = float_of(found["number"] or "")
    if value is None:
        return None
    if unit := (found["unit"] or "").strip():
        return value * _SECONDS.get(unit if unit == "ms" else unit[0], 1.0)
    begin, end = _UNIX_S
    if begin < value < end or _TELLS_TIME.search(text[max(0, found.start() - 16) : found.start()]):
        return value
    return value / 1e3 if begin < value / 1e3 < end else None


def growths(before: tuple[str, ...], values: tuple[str, ...]) -> dict[int, float]:
    """By how much numbers grew, by their place."""
    pairs = ((place, float_of(then), float_of(now)) for place, (then, now) in enumerate(zip(before, values, strict=False)))
    return {place: now - then for place, then, now in pairs if then is not None and now is not None and now > then}


def _clock_s(text: str) -> float:
    total = 0.0
    for part in text.replace(",", ".").split(":"):
        total = total * 60 + float(part)
    return total


def _together_s(parts: str) -> float:
    """`1h 2min 3s` in seconds."""
    return sum(float(part["number"]) * _SECONDS.get(part["unit"], 1.0) for part in _PART.finditer(parts))


def float_of(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
