"""What of a run goes into a bundle, as texts of bounded size: its course, the ends of its logs, its recording."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from hangtop import __version__
from hangtop.common.redact import Redactor
from hangtop.common.text import clock
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.monitor.monitor import Monitor
from hangtop.records import wire
from hangtop.records.reading import Reading
from hangtop.records.verdict import Verdict
from hangtop.state.run_state import RunState, fold

HEAD_BYTES, TAIL_BYTES = 256 * 1024, 2 * 1024 * 1024
LOGS_BYTES = 48 << 20
"""Of all logs together: with many ranks each gives less."""
LEAST_BYTES = 4 * 1024
CONTEXT_BYTES = 4 * 1024
MOST_FINDINGS = 50
SESSION_BYTES = 32 << 20
JUDGED_EVERY_S = 0.5


def history(snapshot: Snapshot, verdict: Verdict, session: Sequence[Reading]) -> Iterator[str]:
    """The stages of the run as its log tells them, what hangtop said while it looked, and its last word."""
    yield "stages, by the log's own clock"
    for event in snapshot.log.stages:
        attempt = f"  attempt {event.attempt}" if event.attempt > 1 else ""
        yield f"  {clock(event.at)}  {event.title} ({event.id}, {event.profile}){attempt}"
    yield "verdicts, while this was packed"
    state, monitor, judged = RunState(), Monitor(snapshot.spec), 0.0
    for reading in session:
        state = fold(state, reading)
        if state.log is not None and reading.at - judged >= JUDGED_EVERY_S:
            judged = reading.at
            monitor.look(state, reading.at)
    told = monitor.timeline.entries
    for entry in told:
        yield f"  {clock(entry.at)}  {entry.word}: {entry.headline}"
    if not told or told[-1].headline != verdict.headline:
        yield f"  {clock(snapshot.now)}  {verdict.word}: {verdict.headline}"


def recording(snapshot: Snapshot, session: Sequence[Reading], redactor: Redactor) -> Iterator[str]:
    """The session as a recording: `hangtop replay session.hangtop` shows it. Of a very large one the newest part."""
    lines: list[str] = []
    left = SESSION_BYTES
    for reading in reversed(session):
        line = msgspec.json.encode(redactor.tree(msgspec.to_builtins(reading))).decode() + "\n"
        left -= len(line)
        if left < 0:
            break
        lines.append(line)
    yield wire.encode(wire.Header(wire.SCHEMA, __version__, snapshot.now, snapshot.spec)).decode()
    yield from reversed(lines)


def logs(snapshot: Snapshot) -> dict[str, str]:
    """The head and tail of each log, and the surroundings of each finding; small files give a head alone."""
    texts: dict[str, str] = {}
    for number, file in enumerate(snapshot.log.files):
        if file.status not in ("ok", "gone") or file.path == "-":
            continue
        name = f"{number:02d}-{Path(file.path).name}"
        share = max(LEAST_BYTES, LOGS_BYTES // len(snapshot.log.files))
        head, tail = min(HEAD_BYTES, share // 4), min(TAIL_BYTES, share * 3 // 4)
        found = [finding for finding in snapshot.log.findings if finding.file == number][:MOST_FINDINGS]
        try:
            with open(file.path, "rb") as raw:
                end = raw.seek(0, os.SEEK_END)
                texts[f"{name}.head.txt"] = _part(raw, 0, head, end)
                texts[f"{name}.tail.txt"] = _part(raw, max(0, end - tail), tail, end)
                for finding in found:
                    context = _part(raw, max(0, finding.offset - CONTEXT_BYTES), 2 * CONTEXT_BYTES, end)
                    texts[f"{name}.at-{finding.offset}.{finding.id}.txt"] = context
        except OSError as error:
            texts[f"{name}.missing.txt"] = f"{file.path}: {error.strerror}"
    return texts


def _part(raw: BinaryIO, begin: int, count: int, end: int) -> str:
    """So many bytes from `begin` on, less the lines that are cut at its edges: half a secret has no shape to know it by.

    A line that is longer than the part stays as it is."""
    raw.seek(begin)
    data = raw.read(count)
    first = data.find(b"\n") + 1 if begin else 0
    last = data.rfind(b"\n") + 1 if begin + len(data) < end else len(data)
    return (data[first:last] if first < last else data).decode("utf-8", "replace")
