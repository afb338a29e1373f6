"""What kind a line is, for the eye: progress, stage, warning, error or plain."""

from __future__ import annotations

from hangtop.logs.clean import clean_text
from hangtop.logs.index import Index, Wants
from hangtop.logs.lines import Line
from hangtop.logs.signature import compiled
from hangtop.records.log import LineKind, LogLine

_BY_LEVEL: dict[str, LineKind] = {
    "W": "warning", "WARN": "warning", "WARNING": "warning",
    "E": "error", "F": "error", "C": "error", "ERROR": "error", "CRITICAL": "error", "FATAL": "error", "EXCEPTION": "error",
}  # fmt: skip


def line_kind(text: str, level: str, index: Index) -> LineKind:
    """The kind of a message without its prefixes. A known message counts before the level that its logger gave it."""
    wants = index.wants(frozenset(number for number, _, _ in index.scanner.hits(text.encode())))
    severities = {each.severity for each in wants.signatures if each.role != "noise" and compiled(each.regex).search(text)}
    if "fatal" in severities:
        return "error"
    if "warning" in severities:
        return "warning"
    if _is_stage(wants, text):
        return "stage"
    if any(compiled(reader.progress.regex).search(text) for reader in wants.progress):
        return "progress"
    return _BY_LEVEL.get(level.upper(), "plain")


def shown_line(line: Line, file: int, index: Index, rank: int | None) -> LogLine:
    """A parsed line as it may be shown."""
    prefix = line.prefix
    kind = line_kind(line.text, prefix.level, index)
    return LogLine(file, line.offset, line.at, rank, clean_text(prefix.text), clean_text(line.text), kind)


def _is_stage(wants: Wants, text: str) -> bool:
    return any(each.marker.regex is None or compiled(each.marker.regex).search(text) for each in wants.stages)
