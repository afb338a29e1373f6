"""The kind of a line, by which it is coloured: progress, stage, warning, error or plain."""

from __future__ import annotations

import re

from hangtop.common.clean_text import clean_text
from hangtop.common.late_pattern import compiled, late_pattern
from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.lines.block_lines import Line
from hangtop.records.log import LineKind, LogLine

_BY_LEVEL: dict[str, LineKind] = {
    "W": "warning", "WARN": "warning", "WARNING": "warning",
    "E": "error", "F": "error", "C": "error", "ERROR": "error", "CRITICAL": "error", "FATAL": "error", "EXCEPTION": "error",
}  # fmt: skip

_HEAD = 120
"""Only within this many characters do the words of a message make it an error: later on they are part of what it tells."""

_SAYS: tuple[tuple[LineKind, re.Pattern[str]], ...] = (
    (
        "error",
        late_pattern(
            r"(?:^|[\s\[|(<>])(?:ERR|ERROR|FATAL|CRITICAL)(?=$|[\s\]|):>])"
            r"|(?:^|[:\]] )\W{0,3}(?:[Ff]atal )?[Ee]rror: "
            r"|^\W{0,3}(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)(?=:|$)"
            r"|^(?:Exception |panic: )"
        ),
    ),
    (
        "warning",
        late_pattern(r"(?:^|[\s\[|(<>])WARN(?:ING)?(?=$|[\s\]|):>])|(?:^|: )\W{0,3}(?:[Ww]arning|[A-Z]\w*Warning): "),
    ),
)
"""The words that tell the kind of a line without a level: a bare `ERROR …`, `gcc: fatal error: …`, `ValueError: …`."""

MARKS: dict[LineKind, tuple[str, ...]] = {
    "error": (
        "ERR", "CRITICAL", "FATAL", "EXCEPTION", "error", "critical", "Error", "Exception", "Interrupt", "panic: ",
        "E0", "E1", "F0", "F1", "C0", "C1", " E ", " F ", " C ",
    ),
    "warning": ("WARN", "warn", "Warning", "W0", "W1", " W "),
}  # fmt: skip
"""Every line that its level, or its own words, make one of this kind holds one of these texts."""


def line_kind(text: str, level: str, index: LiteralIndex) -> LineKind:
    """The kind of a message without its prefixes: by the catalog, else by the level that its logger gave it, else by its own
    words. What the catalog only warns of is an error where the line itself says so."""
    readers = index.readers(text.encode())
    severities = {
        signature.severity
        for signature in readers.signatures
        if signature.role != "noise" and compiled(signature.regex).search(text)
    }
    if "fatal" in severities:
        return "error"
    if "warning" in severities:
        return "error" if _by_itself(text, level) == "error" else "warning"
    if readers.markers(text):
        return "stage"
    if any(compiled(reader.progress.regex).search(text) for reader in readers.progress):
        return "progress"
    return _by_itself(text, level)


def _by_itself(text: str, level: str) -> LineKind:
    if level:
        return _BY_LEVEL.get(level.upper(), "plain")
    return next((kind for kind, words in _SAYS if words.search(text[:_HEAD])), "plain")


def shown_line(line: Line, file: int, index: LiteralIndex, rank: int | None) -> LogLine:
    """A parsed line as it may be shown."""
    prefix = line.prefix
    kind = line_kind(line.text, prefix.level, index)
    return LogLine(file, line.offset, line.at, rank, clean_text(prefix.text), clean_text(line.text), kind, line.colours)
