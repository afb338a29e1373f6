"""What launchers and loggers put before a message: taken off one after the other, from the left, however they nest."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from msgspec import Struct

from hangtop.logs.stamps import STAMP

_DEEPEST = 8
_LEVELS = "DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE|SUCCESS|EXCEPTION"
_LEVEL = rf"(?P<level>{_LEVELS}|debug|info|warning|warn|error|critical)"
_STAMP = f"(?P<time>{STAMP})"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"


class Prefix(Struct, frozen=True, omit_defaults=True):
    """What the prefixes of one line say. `text` is what was taken off, `time` the outermost stamp as written.

    `rank` is global. `task`: the number of a launcher's task (srun, a file's name), a rank only when nothing better is known.
    `part`: the index of a tensor- or data-parallel part (`TP1`). `repeated`: so many more lines that Ray did not print.
    `partial`: Kubernetes cut the line; the next one goes on.
    """

    text: str = ""
    time: str = ""
    level: str = ""
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    part: int | None = None
    world: int | None = None
    pid: int | None = None
    host: str | None = None
    gpu: int | None = None
    actor: str | None = None
    stream: str | None = None
    partial: bool = False
    repeated: int = 0


def _forms(first: str, *patterns: str) -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
    compiled = tuple(re.compile(pattern) for pattern in patterns)
    return tuple((char, compiled) for char in first)


# The specific form before the general one. Names of groups are fields of `Prefix`; those that are not are only matched.
_BRACKET = _forms(
    "[",
    r"\[rank(?P<rank>\d+)\]:\s?",
    r"\[(?:[\w.-]+:)?(?:default|trainer|worker|[A-Za-z_]+_?)(?P<local_rank>\d+)\]:\s?",
    r"\[\d+,(?P<rank>\d+)\](?:\[[^\]]*\])?<(?P<stream>stdout|stderr|stddiag)>:\s?",
    r"\[[\w.@-]+,\d+,(?P<rank>\d+)\](?:\[[^\]]*\])?<(?P<stream>stdout|stderr|stddiag)>:\s?",
    r"\[(?P<level>[DIWEFC])(?P<time>\d{3,4} \d\d:\d\d:\d\d\.\d+)\s+(?:(?P<pid>\d+)\s+)?[\w./+-]+:\d+\] ?",
    rf"\[{_STAMP} (?P<level>[DIWEFC]) (?P<pid>\d+) \d+\] (?:\([\w-]+\) )?[\w./]+:\d+: ",
    rf"\[{_STAMP}\] \[{_LEVEL}\] (?:\[[\w.]+:\d+:\w+\] ?)?(?:\[Rank (?P<rank>\d+)\] )?",
    rf"\[{_STAMP}(?: DP\d+)?(?: PP\d+)?(?: TP(?P<part>\d+))?(?: (?:EP|ATTN_TP|DP)\d+)*\] (?![\w.]+ - )",
    rf"\[NeMo [IWED] {_STAMP}(?: [\w.:-]+)?(?: [\w.]+:\d+)?\] ?",
    rf"\[{_LEVEL}\|[\w.]+:\d+\] {_STAMP} >> ",
    rf"\[{_STAMP}\](?:\[[\w.]+\])?(?:\[{_LEVEL}\])?(?: [\w.]+)? - (?:{_LEVEL.replace('level', 'level2')} - )?",
    rf"\[{_STAMP}\](?:\[[\w.]+\])?(?:\[{_LEVEL}\])?:? ?",
    rf"\[(?:{_CLOCK})\]\s*(?:{_LEVEL}\s+)?",
    rf"\[\w*INFO {_STAMP}\]\s+",
    r"\[PG (?:ID |GUID )?(?:0\b|default)[^\]]*?Rank (?P<rank>\d+)\] ",
    r"\[PG [^\]]*?Rank \d+\] ",
    r"\[(?:pod|container)/[^\]]+\] ",
    r"\[(?i:global[ _-]?)?(?i:rank)[ :=_-]?(?P<rank>\d+)(?:/(?P<world>\d+))?\]:?\s?",
    r"\[(?i:local[ _-]?rank)[ :=_-]?(?P<local_rank>\d+)\]:?\s?",
    rf"\[{_LEVEL}\]:?\s+",
)
_PAREN = _forms(
    "(",
    r"\((?P<actor>(?:EngineCore|APIServer|ApiServer|Worker)(?:_(?:[DPE]P\d+|TP(?P<part>\d+)|\d+))*)(?: pid=(?P<pid>\d+))?\) ?",
    r"\((?P<actor>[^()=]+? |[^()=]*\([^()]*\) )?(?:rank=(?P<rank>\d+),? )?pid=(?P<pid>\d+)"
    r"(?:, ip=(?P<host>[^)\s,]+))?(?:, \w+=[^)\s,]+)*\) ?",
    r"\((?P<actor>raylet|gcs_server|autoscaler|driver|log_monitor|dashboard)(?: \+[0-9hms]+)?(?:, ip=(?P<host>[^)\s]+))?\) ?",
)
_DIGIT = _forms(
    "0123456789",
    rf"{_STAMP} (?P<stream>stdout|stderr) (?P<tag>[FP]) ",
    rf"{_STAMP}\t{_LEVEL} [\w.]+:\d+ -- ",
    rf"{_STAMP} \| {_LEVEL}\s*\| (?:[\w.<>]+:[\w<>]+:\d+ - )?",
    rf"{_STAMP} {_LEVEL} \[rank (?P<rank>\d+)(?:/(?P<world>\d+))?\] (?:[\w.]+: )?",
    rf"{_STAMP}(?: ?[-|:,] ?| )(?:\[?{_LEVEL}\]?)(?: ?[-|:] ?| )(?:[\w.]+:\d+ ?[-|:\]] ?|(?:__\w+__|\w+(?:\.\w+)+) - )?",
    rf"{_STAMP} - (?!\d)[\w.]+ - (?:{_LEVEL} - )?",
    rf"{_STAMP}(?: - | \| |: |\s+|$)",
    rf"{_CLOCK}(?: - | \| |: |\s+)(?:{_LEVEL}(?: - | \| |: |\s+))?(?=\S)",
    r"(?P<task>\d{1,5}): ",
    r"(?P<host>[\w.-]+):(?P<pid>\d+):\d+ (?:\[(?P<gpu>\d+)\] |(?=NCCL))",
)
_LETTER = _forms(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_",
    rf"{_LEVEL} {_STAMP} \[?[\w./]+:\d+\] ?",
    rf"{_LEVEL}\s+{_STAMP}(?: - |: |\s+)",
    r"(?P<level>[DIWEFC])(?P<time>\d{3,4} \d\d:\d\d:\d\d\.\d+)\s+(?:(?P<pid>\d+)\s+)?[\w./+-]+:\d+\] ?",
    r"(?P<host>[\w.-]+):(?P<pid>\d+):\d+ (?:\[(?P<gpu>\d+)\] |(?=NCCL))",
    rf"{_LEVEL}:[\w.]+:(?!\d+\])",
    r"(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) [\w.-]+ [\w./-]+(?:\[\d+\])?: ",
    r"(?i:rank)[ :=_-]?(?P<rank>\d+)(?:/(?P<world>\d+))?(?:\]|:|\s*\||,| -)\s+",
    r"[\w.-]+-\d+ +\| ",
)
_BY_FIRST = dict(_BRACKET + _PAREN + _DIGIT + _LETTER)

_REPEATED = re.compile(r" \[repeated (\d+)x across cluster\](?: \(Ray deduplicates logs by default\..*)?\s*$")
_NUMBERS = ("rank", "local_rank", "task", "part", "world", "pid", "gpu")
_WORDS = ("time", "actor", "host", "stream")


def strip(text: str) -> tuple[Prefix, str]:
    """The prefixes of a line that is already without escapes, and the bare message.

    The outermost word holds (its clock is the one that all lines share), but for the level, which the innermost logger knows.
    """
    position, repeated = 0, 0
    known: dict[str, Any] = {}
    if text.endswith((")", "]")):
        text, repeated = _unrepeated(text)
    for _ in range(_DEEPEST):
        match = _next(text, position)
        if match is None:
            break
        position = match.end()
        _learn(known, match)
    known["text"] = text[:position]
    if repeated:
        known["repeated"] = repeated
    return Prefix(**known), text[position:]


def _next(text: str, position: int) -> re.Match[str] | None:
    """The prefix that stands at `position`, blanks before it passed over."""
    while text[position : position + 1] in (" ", "\t"):
        position += 1
    for pattern in _BY_FIRST.get(text[position : position + 1], ()):
        if match := pattern.match(text, position):
            return match
    return None


def _learn(known: dict[str, Any], match: re.Match[str]) -> None:
    for name, value in match.groupdict().items():
        if value is None:
            continue
        if name in _NUMBERS:
            known.setdefault(name, int(value))
        elif name in _WORDS:
            known.setdefault(name, value.strip())
        elif name == "tag":
            known["partial"] = value == "P"
        else:
            known["level"] = value


def _unrepeated(text: str) -> tuple[str, int]:
    found = _REPEATED.search(text)
    return (text[: found.start()], int(found[1])) if found else (text, 0)


@lru_cache(maxsize=4_096)
def strip_head(head: str) -> Prefix:
    """The prefixes at the start of a line that goes on for long, such as a bar that draws itself anew."""
    return strip(head)[0]
