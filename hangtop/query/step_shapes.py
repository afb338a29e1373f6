"""The forms of a log's step lines, learnt from examples, so that a database can read millions of them by itself.

What a line means is for `hangtop.logs.extract` alone to say. Here it is asked what it makes of one example, and again with each
number of the example changed: whatever changes with a number comes from that number. So no meaning is written down twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import isclose, isfinite

from msgspec import Struct

from hangtop.logs.digest import Digest
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.extract.steps.progress import StepLine
from hangtop.logs.lines.timestamps import LogClock
from hangtop.query.partial_dates import CLOCK, LEVELS, YEARLESS, Lacks

LONGEST = 2_000
"""Bytes of a line."""
LONGEST_KEY = 80
MOST_SHAPES = 400
"""Each is read over all lines that may have it."""
BARS = "█▏▎▍▌▋▊▉"
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf|NaN|Infinity)\b"
_DIGITS, _GROUPED = (rf"[-+]?(?:{digits}(?:[eE][-+]?\d+)?|nan|inf|NaN|Infinity)" for digits in (r"[\d.]+", r"[\d.,]+"))
"""The same for RE2, which is fast where no sign may belong to two parts: a comma only where the example has one."""
_DATE, _ZONE = r"\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?", r"(?:Z| ?[+-]\d\d:?\d\d)"
"""A full date with a clock time, of which a database makes a moment by itself."""
_WRITTEN_BY_A_LOGGER = r"^|(?<=^[\[(])|(?<=\] )|(?<=\]: )"
_BEHIND_A_LEVEL = "|".join(rf"(?<=\b{level} )" for level in LEVELS)
_PIECE = re.compile(
    rf"(?P<stamp>{_DATE}{_ZONE}?)|(?P<clock>(?=[0-2]\d:)(?:{_WRITTEN_BY_A_LOGGER}){CLOCK}(?=[\]),\s|]))"
    rf"|(?P<yearless>(?=[01]\d[-/\d]|[A-Z][a-z][a-z] )(?:{_WRITTEN_BY_A_LOGGER}|{_BEHIND_A_LEVEL}|(?<=^[DIWEF]))"
    rf"{YEARLESS}(?=[\]),\s|]))"
    rf"|(?P<number>(?<![\d.]){NUMBER})|(?P<bar>[ {BARS}]*[{BARS}][ {BARS}]*)|(?P<blank>\s+)"
)
_KEY = re.compile(r"(?P<key>[A-Za-z_][\w/.@-]*(?: [A-Za-z][\w()]*){0,3})[\"']?\s*[:=]\s*[\"']?$")
"""A name before a number that no profile gives a plain one."""

LACKS: dict[str, Lacks] = {"stamp": "", "yearless": "year", "clock": "date"}
"""What each kind of time does not tell, the fullest first."""

Readings = dict[str, float]
"""What one line tells: `step`, `total`, `step_s`, `rank`, and each metric as `metric:NAME`."""


class Source(Struct, frozen=True):
    """A value is the number of this group times `factor`; `inverse`: that divided by it, for a rate is told. `grouped`: with
    commas between thousands."""

    group: str
    factor: float = 1.0
    inverse: bool = False
    grouped: bool = False

    def of(self, number: float) -> float | None:
        """The value that this number means."""
        if not self.inverse:
            return number * self.factor
        return self.factor / number if number else None


class Shape(Struct, frozen=True):
    """One form. `regex`: of whole lines, in the syntax that Python and RE2 share, with the groups that are read; `literal`: the
    longest text that each such line holds. `values`: by the name of the reading. `fixed`: what each line of this form tells.
    `shift_s`: unix time minus the group `stamp`, `None` where the lines carry no full date; `stamp`: that of the example.
    `lacks`: what it does not tell."""

    regex: str
    literal: str
    counter: str
    values: dict[str, Source]
    fixed: Readings = {}
    shift_s: float | None = None
    stamp: str = ""
    lacks: Lacks = ""


class _Read(Struct, frozen=True):
    """`counter`: what is counted. `prefix`: length of the launcher's prefix. `at`: unix time."""

    counter: str
    readings: Readings
    prefix: int
    at: float | None


class StepReader:
    """What the log extractors make of a single line."""

    def __init__(self, index: LiteralIndex, clock_shift_s: float | None = None) -> None:
        self._index, self._shift_s = index, clock_shift_s

    def read(self, line: str) -> _Read | None:
        """The first counted step in it; `None` for a line that tells none by itself."""
        told: list[StepLine] = []
        digest = Digest(self._index, 0, clock_shift_s=self._shift_s, on_step=told.append)
        digest.feed(line.encode() + b"\n")
        digest.facts()  # reads what was held back
        found = next((each for each in told if each.seen.step is not None), None)
        if found is None:
            return None
        seen = found.seen
        readings = {f"metric:{name}": value for name, value in seen.metrics.items()}
        more = {"step": seen.step, "total": seen.total, "step_s": seen.step_s, "rank": digest.ranks.rank_of(seen.writer)}
        readings |= {name: float(value) for name, value in more.items() if value is not None}
        return _Read(f"{seen.profile}:{seen.kind}", readings, len(found.line.prefix.text), seen.at)


def learn(lines: Iterable[str], reader: StepReader) -> Iterator[Shape]:
    """The shapes among these example lines, each once, those of the most lines first."""
    examples: dict[str, str] = {}
    count: Counter[str] = Counter()
    for line in lines:
        key = shape_key(line)
        examples.setdefault(key, line)
        count[key] += 1
    shapes = (_learnt(examples[key], reader) for key, _ in count.most_common())
    yield from islice((shape for shape in shapes if shape is not None), MOST_SHAPES)


def shape_key(line: str) -> str:
    """The line without what changes from step to step: equal for lines of one form."""
    return _PIECE.sub(lambda piece: f"\0{piece.lastgroup}", line)


def _learnt(line: str, reader: StepReader) -> Shape | None:
    if len(line) > LONGEST or not any(map(str.isdigit, line)) or (read := reader.read(line)) is None:
        return None
    pieces = list(_PIECE.finditer(line))
    values: dict[str, Source] = {}
    for nth, piece in enumerate(pieces):
        if piece.lastgroup == "number":
            other = _changed(piece[0])
            after = reader.read(line[: piece.start()] + other + line[piece.end() :])
            if after is not None and after.counter == read.counter:
                values |= dict(_sources(f"n{nth}", piece[0], other, read.readings, after.readings))
    if "step" not in values:
        return None
    values = dict(_unnamed(line, pieces, read.prefix, {source.group for source in values.values()})) | values
    stamp = _stamp_of(pieces)
    lacks = LACKS[stamp.lastgroup or ""] if stamp is not None else ""
    naive_s = None if stamp is None or lacks else LogClock().read(re.sub(f"{_ZONE}$", "", stamp[0]))
    shift_s = None if naive_s is None or read.at is None else read.at - naive_s
    wanted = {source.group for source in values.values()}
    literal = max(re.split("\0[a-z]*", shape_key(line)), key=len)
    fixed = {name: value for name, value in read.readings.items() if name not in values and isfinite(value)}
    regex = _regex(line, pieces, wanted, stamp)
    return Shape(regex, literal, read.counter, values, fixed, shift_s, stamp[0] if stamp else "", lacks)


def _stamp_of(pieces: Sequence[re.Match[str]]) -> re.Match[str] | None:
    """What tells when the line was written: its first date, else its first one without a year, else its first time of day."""
    stamps = [piece for piece in pieces if piece.lastgroup in LACKS]
    return min(stamps, key=lambda piece: [*LACKS].index(piece.lastgroup or ""), default=None)


def _sources(group: str, before: str, after: str, old: Readings, new: Readings) -> Iterator[tuple[str, Source]]:
    """What of the old readings is told by this number, as the new ones show."""
    first, second = _number(before), _number(after)
    for name, value in old.items():
        other = new.get(name)
        if other is None or other == value:
            continue
        grouped = "," in before
        for source in (
            Source(group, value / first if first and isfinite(value) else 1.0, False, grouped),
            Source(group, value * first, True, grouped),
        ):
            told = source.of(second)
            if told is not None and isclose(told, other, rel_tol=1e-6):
                yield name, source
                break


def _unnamed(line: str, pieces: list[re.Match[str]], prefix: int, known: set[str]) -> Iterator[tuple[str, Source]]:
    """Numbers of which only the name before them tells what they are."""
    for nth, piece in enumerate(pieces):
        if piece.lastgroup == "number" and piece.start() >= prefix and f"n{nth}" not in known:
            found = _KEY.search(line, max(prefix, piece.start() - LONGEST_KEY), piece.start())
            if found is not None:
                yield f"metric:{found['key']}", Source(f"n{nth}", grouped="," in piece[0])


def _changed(number: str) -> str:
    """Another number, of the same form where it has digits."""
    if not any(map(str.isdigit, number)):  # nan, inf
        return "1.5"
    exponent = max(number.find("e"), number.find("E"))
    changed = [
        str((int(sign) + 3) % 9 + 1) if sign.isdigit() and (exponent < 0 or nth < exponent) else sign
        for nth, sign in enumerate(number)
    ]
    return "".join(changed)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _regex(line: str, pieces: list[re.Match[str]], wanted: set[str], stamp: re.Match[str] | None) -> str:
    parts, done = ["^"], 0
    for nth, piece in enumerate(pieces):
        parts.append(re.escape(line[done : piece.start()]))
        done = piece.end()
        match piece.lastgroup:
            case "stamp" if piece is stamp:
                parts.append(f"(?P<stamp>{_DATE}){_ZONE}?")
            case "clock":
                parts.append(f"(?P<stamp>{CLOCK})" if piece is stamp else CLOCK)
            case "yearless":
                parts.append(f"(?P<stamp>{YEARLESS})" if piece is stamp else YEARLESS)
            case "number":
                number = _GROUPED if "," in piece[0] else _DIGITS
                parts.append(f"(?P<n{nth}>{number})" if f"n{nth}" in wanted else number)
            case "bar":
                parts.append(f"[ {BARS}]*")
            case "blank":
                parts.append(r"\s+")
            case _:
                parts.append(re.escape(piece[0]))
    return "".join((*parts, re.escape(line[done:]), "$"))
