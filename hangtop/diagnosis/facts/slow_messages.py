"""Known messages of what makes a run slow, that are true now: hints beside a run that goes on. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from hangtop.common.text import first_line
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import Finding, LogReading
from hangtop.records.verdict import Evidence

LATELY_BYTES, LATELY_PART = 64 << 10, 0.1
"""What stands in the last part of a log is said now: in this much of it, or this many bytes."""
MOST_CELLS = 120
OF_SLOWNESS = ("slow.", "sglang.retract", "compile.recompile")
"""How the ids of messages begin that only say what takes time: nothing waits, and nothing ends."""


def slow_messages(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """What is said again and again until now, and what was said before the first step and holds for the run."""
    return tuple(Evidence("log", _line(finding), page=finding.id) for finding in _present(snapshot))


def _present(snapshot: Snapshot) -> Iterator[Finding]:
    log = snapshot.log
    for finding in snapshot.findings:
        if (
            finding.id.startswith(OF_SLOWNESS)
            and finding.attempt == log.attempt
            and (_lately(log, finding) or _at_start(log, finding))
        ):
            yield finding


def _lately(log: LogReading, finding: Finding) -> bool:
    size = log.files[finding.file].size_bytes if finding.file < len(log.files) else 0
    return size - finding.last_offset <= max(LATELY_BYTES, LATELY_PART * size)


def _at_start(log: LogReading, finding: Finding) -> bool:
    return any(
        event.id == "train_loop"
        and event.file == finding.file
        and event.attempt == log.attempt
        and finding.offset <= event.offset
        for event in log.stages
    )


def _line(finding: Finding) -> str:
    said = first_line(finding.text)
    said = said if len(said) <= MOST_CELLS else f"{said[:MOST_CELLS].rstrip()} …"
    return f"says {finding.count:,} times: {said}" if finding.count > 1 else f"says: {said}"
