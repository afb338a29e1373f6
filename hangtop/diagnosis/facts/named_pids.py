"""Processes that the log names by their pid (`worker 2 started, pid 4242`), and that are gone while others that it names live.

A pid belongs to a machine, and inside a container to that: only a living member with a pid from a line of the same form proves
that these pids are of this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hangtop.common.grouped import grouped
from hangtop.diagnosis.facts.author_fate import living
from hangtop.diagnosis.facts.line_form import form_of
from hangtop.diagnosis.facts.message_evidence import short
from hangtop.diagnosis.facts.named_voices import named_alone
from hangtop.diagnosis.facts.unseen_nodes import unseen_nodes
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine
from hangtop.records.nodes import pid_there
from hangtop.records.verdict import Culprit

_PID = re.compile(r"(?i)\bpid(?:\s+is)?[ =:#(]{0,3}(\d{2,7})\b")

_NAME = re.compile(r"\b[A-Za-z][A-Za-z_]*[-_]?\d+\b")
"""A word that ends in a number, as names of workers do."""


def gone_by_name(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The processes of this attempt that were named last under their name, and that are gone; nobody where most are, or where
    a node cannot be seen, on which they may be."""
    if unseen_nodes(snapshot):
        return ()
    here, told, lines = {pid_there(process.pid) for process in living(snapshot)}, [], _of_this_attempt(snapshot)
    anew = [line for line in lines if here.intersection(map(int, _PID.findall(line.text)))]
    for named in _by_form(lines):
        gone = {pid: line for pid, line in named.items() if pid not in here and not _lives_anew(line, anew)}
        if gone and 2 * len(gone) <= len(named):
            told += [_culprit(line, pid) for pid, line in gone.items()]
    return tuple(sorted(told, key=lambda culprit: culprit.pid or 0))


def gone_alone(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The one process that this attempt named by its pid and that is gone, beside such that live or alone. That it was of this
    machine nothing proves, so it is never more than possible."""
    here, lines = {pid_there(process.pid) for process in living(snapshot)}, _of_this_attempt(snapshot)
    named = {int(found[0]): line for line in lines if len(found := _PID.findall(line.text)) == 1}
    gone = [pid for pid in named if pid not in here]
    if unseen_nodes(snapshot) or not here or len(gone) != 1:
        return ()
    return (replace(_culprit(named[gone[0]], gone[0]), confidence="possible"),)


def _by_form(lines: Iterable[LogLine]) -> Iterable[dict[int, LogLine]]:
    """The lines by pid, for each form of a line. One that says the same of another pid later is of a process that was started
    again."""
    named = [(line, int(found[0])) for line in lines if len(found := _PID.findall(line.text)) == 1]
    forms = grouped(named, lambda entry: tuple(form_of(entry[0]).split()))
    for form, each in forms.items():
        alike = [entry for other, entries in forms.items() if _is_like(form, other) for entry in entries]
        latest = {(line.rank, _PID.sub("", line.text)): (pid, line) for line, pid in alike}
        yield dict(latest.values()) if alike[0] == each[0] else {}


def _lives_anew(line: LogLine, living_lines: Sequence[LogLine]) -> bool:
    """Whether a later line names a process that lives by the same numbered word: `rollout-1 restarted as pid 4243`. A word that
    stands beside several, as the name of a machine does, is nobody's own."""
    own = set(_NAME.findall(_PID.sub("", line.text)))
    later = [other for other in living_lines if other.file == line.file and other.offset > line.offset]
    pids = {word: {pid for other in living_lines if word in other.text for pid in _PID.findall(other.text)} for word in own}
    return any(len(pids[word]) == 1 and any(word in other.text for other in later) for word in own)


def _is_like(form: Sequence[str], other: Sequence[str]) -> bool:
    """Whether they differ in one word at most, as the names of two kinds of process do."""
    return len(form) == len(other) and sum(one != another for one, another in zip(form, other, strict=True)) <= 1


def _of_this_attempt(snapshot: Snapshot) -> Sequence[LogLine]:
    files, older = snapshot.log.files, snapshot.procs.older
    begins = {number: older.get(file.path, 0) for number, file in enumerate(files)}
    return [line for line in snapshot.state.tail if line.offset >= begins.get(line.file, 0)]


def _culprit(line: LogLine, pid: int) -> Culprit:
    named = named_alone(line.text)
    rank = line.rank if line.rank is not None else named[0] if named is not None else None
    return Culprit(rank, pid, None, "likely", (f"has no process here any more: {short(line.text)}",))
