"""Values as text: durations, ages, sizes, lists of ranks, bars and sparklines, and their ASCII stand-ins.

Pure: no I/O, no clock, no Textual.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from unicodedata import east_asian_width

UNKNOWN = "?"
NOT_APPLICABLE = "–"
GIB = 2**30
MEGA = 1_000_000
SPARKS = "▁▂▃▄▅▆"
"""Without `▇█`: neighbouring rows would merge."""
BLOCKS = " ▁▂▃▄▅▆▇█"
"""The blocks of a chart over several lines, whose rows should merge."""

ASCII_SIGNS = str.maketrans(
    {
        "▸": ">", "◂": "<", "●": "*", "▲": "^", "■": "#", "○": "o", "✓": "+", "·": "-", "━": "=", "╸": "=", "─": "-",
        "▁": "_", "▂": ".", "▃": ":", "▄": "-", "▅": "=", "▆": "#", "▌": "#", "▏": "|", "×": "x", "◆": "!", "✗": "x",
        "□": "o", "⋯": "~", "…": "~", "−": "-", "–": "-", "—": "-", "├": "|", "└": "`", "│": "|", "↑": "^", "↓": "v",
        "▇": "#", "█": "#", "←": "<", "→": ">", "°": " ", "≥": ">", "≤": "<", "“": '"', "”": '"', "‘": "'", "’": "'",
    }
)  # fmt: skip

DAY_SHOWN_S = 20 * 3600
"""A clock time this long ago may be of another day."""


def printable(text: str) -> str:
    """The last guard before the terminal: characters that could steer it (controls, text direction) become `?`. Sources clean
    their text before."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def speaks_utf8(environment: Mapping[str, str], encoding: str) -> bool:
    """Whether the terminal takes UTF-8. Python writes UTF-8 under `LANG=C` too (PEP 538, 540), but a terminal set to `C` does not
    show it; one with no setting, as in most containers, does."""
    named = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environment.get(name))), "")
    return "utf" in encoding.lower() and named not in ("C", "POSIX")


def ascii_only(text: str) -> str:
    """The text for a terminal without UTF-8, with the same width: known signs have a stand-in, other characters become `?`."""
    text = printable(text)
    if text.isascii():
        return text
    text = text.translate(ASCII_SIGNS)
    if text.isascii():
        return text
    return "".join(c if c.isascii() else "??" if east_asian_width(c) in "WF" else "?" for c in text)


_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"


@cache
def _piece() -> re.Pattern[str]:
    """A word, or one wide character with the punctuation that belongs to it: Chinese has no blanks to break at.

    Made at its first use, since that takes 3 ms."""
    return re.compile(rf"\s*(?:[（“‘《「]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[，。；：！？）、”’》」]*|$)")


def breakable(text: str) -> list[str]:
    """The text in pieces between which a line may break, each with the blanks behind it."""
    if text.isascii():
        return re.split(r"(?<= )(?=\S)", text)
    return [piece for piece in _piece_with_blanks().findall(text) if piece]


@cache
def _piece_with_blanks() -> re.Pattern[str]:
    return re.compile(rf"[（“‘《「]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[，。；：！？）、”’》」]*\s*|\s+")


def cells(text: str) -> int:
    """The width of a text on the screen: East Asian characters take two cells."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def wrap(sentence: str, width: int) -> list[str]:
    """The sentence in lines of at most `width` cells, broken between words; a word that is too long is broken itself."""
    sentence = sentence.strip()
    if cells(sentence) <= width:
        return [sentence]
    lines = [""]
    for piece in _piece().findall(sentence):
        if lines[-1] and cells(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
        while cells(lines[-1]) > width > 1:
            fits = next(n for n in range(width, 0, -1) if cells(lines[-1][:n]) <= width)
            lines[-1:] = [lines[-1][:fits], lines[-1][fits:]]
    return lines


def duration(seconds: float | None) -> str:
    """`3s`, `2:31`, `1h43`, `2d21h`; unknown is `?`."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def age(seconds: float | None) -> str:
    """A duration for tables that changes seldom: `<5s`, then in steps of 5 s, from 1:00 on of 10 s, rounded down."""
    if seconds is None:
        return UNKNOWN
    return "<5s" if seconds < 5 else duration(coarse(seconds))


def coarse(seconds: float) -> float:
    """Rounded down to 5 s, from 1:00 on to 10 s."""
    step = 5 if seconds < 60 else 10
    return seconds // step * step


def clock(at: float | None) -> str:
    """Local wall-clock time of a moment, `10:04:24`."""
    return "--:--:--" if at is None else time.strftime("%H:%M:%S", time.localtime(at))


def moment(at: float | None, now: float) -> str:
    """As `clock`, but with the day if that is not today: `17 Nov 15:27:27`."""
    if at is None or now - at < DAY_SHOWN_S:
        return clock(at)
    return time.strftime("%d %b %H:%M:%S", time.localtime(at))


def size(count: int | None) -> str:
    """Bytes: `812 B`, `38 K`, `48.2 M`, `1.9 G`; `G` is 2^30."""
    if count is None:
        return UNKNOWN
    value, unit = float(count), "B"
    for unit in ("B", "K", "M", "G", "T"):
        if value < 1024 or unit == "T":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" or (unit == "K" and value >= 10) or value >= 100 else f"{value:.1f} {unit}"


def count(value: int | None) -> str:
    """Thousands with comma."""
    return UNKNOWN if value is None else f"{value:,}"


def pace(seconds: float | None) -> str:
    """Seconds a step: one decimal, more below one second."""
    if seconds is None:
        return UNKNOWN
    if seconds >= 1 or seconds == 0:
        return f"{seconds:,.1f}"
    return f"{seconds:.2f}" if seconds >= 0.1 else f"{seconds:.1g}"


def metric(value: float | None) -> str:
    """A metric in at most 8 cells: `0.119`, `2.184`, `4.9e-5`, `812`, `NaN`, `−Inf`."""
    if value is None:
        return UNKNOWN
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "−Inf"
    size_ = abs(value)
    if size_ != 0 and (size_ < 0.001 or size_ >= 1e7):
        mantissa, _, exponent = f"{size_:.1e}".partition("e")
        plain = f"{mantissa}e{int(exponent)}"
    elif size_ >= 100:
        plain = f"{size_:,.0f}"
    else:
        plain = f"{size_:.3f}"
    return f"−{plain}" if value < 0 else plain


def bar(part: float, width: int) -> tuple[str, str]:
    """(filled, track) of a bar of `width` cells for a part of 0…1, to half a cell; any part above 0 fills at least half a
    cell."""
    part = min(1.0, max(0.0, part)) if math.isfinite(part) else 0.0
    halves = min(2 * width, max(1 if part > 0 else 0, round(part * 2 * width)))
    filled = "━" * (halves // 2) + "╸" * (halves % 2)
    return filled, "─" * (width - len(filled))


def spark(values: Sequence[float | None], width: int, *, floor: float | None = None, ceiling: float = -math.inf) -> str:
    """The last `width` values as blocks, from `floor` (or the least value) to `ceiling` (or the greatest). `None` leaves a
    gap."""
    shown = list(values)[-width:] if width > 0 else []
    numbers = [v for v in shown if v is not None and math.isfinite(v)]
    if not numbers:
        return ""
    low = min(numbers) if floor is None else min(floor, *numbers)
    span = max(ceiling, *numbers) - low
    top = len(SPARKS) - 1

    def block(value: float | None) -> str:
        if value is None or not math.isfinite(value):
            return " "
        return SPARKS[round((value - low) / span * top) if span > 0 else top // 2]

    return "".join(block(value) for value in shown)


def chart(values: Sequence[float | None], lines: int, ceiling: float) -> list[str]:
    """The values as columns `lines` tall, top line first, full at `ceiling`. A value of 0 is a thin line, `None` a gap."""
    steps = len(BLOCKS) - 1

    def cell(value: float | None, line: int) -> str:
        if value is None:
            return " "
        tall = max(1, round(min(value / ceiling, 1.0) * lines * steps)) if ceiling > 0 else 1
        return BLOCKS[max(0, min(tall - line * steps, steps))]

    return ["".join(cell(value, line) for value in values) for line in reversed(range(lines))]


def rank_ranges(ranks: Iterable[int]) -> str:
    """`0-2 4-7`."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return " ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def numbered(noun: str, numbers: Iterable[int]) -> str:
    """`rank 3`, `GPUs 0-2 4-7`."""
    known = set(numbers)
    return f"{plural(len(known), noun)} {rank_ranges(known)}"


def rate(bytes_s: float) -> str:
    """`412 MB/s`, `0.4 MB/s`: MB is a million bytes, as for disks and networks."""
    mega = bytes_s / 1_000_000
    return f"{mega:,.0f} MB/s" if mega >= 10 else f"{mega:.1f} MB/s"


def some(number: int, noun: str) -> str:
    """`1 rank`, `8 ranks`, `1,024 processes`."""
    return f"{number:,} {plural(number, noun)}"


def every(number: int, noun: str) -> str:
    """`the process`, `all 8 processes`."""
    return f"the {noun}" if number == 1 else f"all {some(number, noun)}"


def are(number: int) -> str:
    """`is` for one, else `are`."""
    return "is" if number == 1 else "are"


def plural(number: int, noun: str) -> str:
    """The noun for this number: `rank`, `ranks`, `processes`, `classes`, `entries`. All plurals are made here."""
    if number == 1:
        return noun
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"


def first_line(text: str) -> str:
    return text.split("\n", 1)[0]
