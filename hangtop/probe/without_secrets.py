"""Secrets are taken out of log lines and command lines before a reading leaves the probe: no screen, recording, report or notice
can show what never came. Inside the probe texts stay whole: who belongs to the run is told by them.

Plans, launches and Ray's own command lines are left as they are, for they are carried out word for word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from hangtop.common.secrets.open_block import OpenBlock
from hangtop.common.secrets.redactor import Redactor
from hangtop.records.inspection import Inspection
from hangtop.records.log import Finding, LogLine, LogReading, PageReading, Work
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.records.ray.remote_workers import ActorLogReading
from hangtop.records.reading import Value
from hangtop.records.runs import RunCandidate, RunsReading
from hangtop.records.watched_waits import WaitsReading, WatchedProcess

Told = TypeVar("Told", Process, Writer, WatchedProcess, RunCandidate)
"""Records with the command line of a process."""


class SecretFilter:
    """Of one source. A secret of several lines may be cut by two readings: each file goes on where it was. Most texts come again
    with the next reading of their kind (commands, findings): they are remembered until then, and no longer, for the last line of
    a log is another one each second."""

    def __init__(self) -> None:
        self._redactor = Redactor()
        self._open: dict[int, OpenBlock] = {}
        self._last: dict[type, dict[str, str]] = {}
        self._before: dict[str, str] = {}
        self._now: dict[str, str] = {}

    def value(self, value: Value) -> Value:
        kind = type(value)
        self._before, self._now = self._last.get(kind, {}), {}
        clean = self._clean(value)
        self._last[kind] = self._now
        return clean

    def _text(self, text: str) -> str:
        clean = self._now.get(text)
        if clean is None:
            clean = self._now[text] = self._before.get(text) or self._redactor.text(text)
        return clean

    def _clean(self, value: Value) -> Value:
        match value:
            case LogReading():
                return self._log(value)
            case PageReading():
                return replace(value, lines=tuple(self._lines(value.lines, {})))
            case ProcessReading():
                return replace(
                    value,
                    writers=self._commands(value.writers),
                    processes=self._commands(value.processes),
                    orphans=self._commands(value.orphans),
                    zombies=self._commands(value.zombies),
                    ended=self._commands(value.ended),
                )
            case WaitsReading():
                return replace(value, processes=self._commands(value.processes))
            case Inspection():
                others = {pid: self._text(command) for pid, command in value.others.items()}
                environment = self._redactor.environ(value.environment)
                return replace(value, command=self._text(value.command), environment=environment, others=others)
            case RunsReading():
                return replace(value, candidates=self._commands(value.candidates))
            case ActorLogReading():
                outputs = (
                    replace(output, lines=tuple(self._redactor.text("\n".join(output.lines)).split("\n")) if output.lines else ())
                    for output in value.outputs
                )
                return replace(value, outputs=tuple(outputs))
        return value

    def _commands(self, records: Iterable[Told]) -> tuple[Told, ...]:
        return tuple(replace(record, command=self._text(record.command)) for record in records)

    def _log(self, log: LogReading) -> LogReading:
        if log.fresh:
            self._open = {}
        return replace(
            log,
            last_line=None if log.last_line is None else self._text(log.last_line),
            repeats=self._text(log.repeats),
            work=None if log.work is None else Work(log.work.at, self._text(log.work.text), log.work.told_s),
            findings=tuple(map(self._finding, log.findings)),
            tail=tuple(self._lines(log.tail, self._open)),
        )

    def _finding(self, finding: Finding) -> Finding:
        groups = {name: self._text(said) for name, said in finding.groups.items()}
        return replace(finding, text=self._text(finding.text), groups=groups)

    def _lines(self, lines: Iterable[LogLine], opened: dict[int, OpenBlock]) -> Iterable[LogLine]:
        for line in lines:
            text = self._redactor.line(line.text, opened.setdefault(line.file, OpenBlock()))
            yield line if text == line.text else replace(line, text=text)
