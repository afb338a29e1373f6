"""What a log says of the Ray session of its run: what Ray prints when a driver joins or starts a session (Ray 2.9 to 2.60), the
session's folder, and the workers that wrote lines.

A log may hold several attempts. Each begins when Ray says that it joins or starts a cluster, and replaces what was known before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from hangtop.common.addresses import host_port
from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line
from hangtop.records.log import RaySaid, RaySpeaker

_LITERALS = ("existing Ray cluster at address", "local Ray instance", "Connected to Ray cluster", "session_2", "raysubmit_")
"""Any text that `RayNames.read` understands holds one of these."""
MOST_SPEAKERS = 64
MOST_SESSIONS = 4
SESSION = re.compile(r"\bsession_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d+_\d+\b")
_JOINS = re.compile(r"\bConnecting to existing Ray cluster at address: (?P<address>[^\s,]+?)\.*(?:\s|$)")
_STARTED = re.compile(r"\bStarted a local Ray instance\b")
_DASHBOARD = re.compile(r"\bView the (?:Ray )?dashboard at:? (?P<address>[^\s,]+)")
_SUBMITTED = re.compile(r"\braysubmit_\w+")


class RayNames(Extractor):
    """The Ray session of the latest attempt in one file."""

    literals = _LITERALS

    def __init__(self) -> None:
        self._said = RaySaid()
        self._speakers: dict[tuple[str, int, str], float | None] = {}
        self._since = -1

    def read(self, found: FoundLine) -> None:
        """Only the driver tells the cluster of the run: an actor may join another one."""
        line, text = found.line, found.line.text
        if not _of_a_worker(line):
            if told := _JOINS.search(text):
                self._begin(line, RaySaid(joined=host_port(told["address"])))
            elif _STARTED.search(text):
                self._begin(line, RaySaid(started=True))
            if told := _DASHBOARD.search(text):
                self._know(dashboard=host_port(told["address"]))
        if names := SESSION.findall(text):
            known = [name for name in self._said.sessions if name not in names]
            self._know(sessions=tuple((*known, *dict.fromkeys(names))[-MOST_SESSIONS:]))
        if told := _SUBMITTED.search(text):
            self._know(submission=told[0])

    def hear(self, line: Line) -> None:
        """Ray prints before each line of a worker whose it is."""
        if line.offset > self._since and _of_a_worker(line):
            key = (line.prefix.actor or "", line.prefix.pid or 0, line.prefix.host or "")
            before = self._speakers.pop(key, None)
            self._speakers[key] = line.at if line.at is not None else before
            if len(self._speakers) > MOST_SPEAKERS:
                del self._speakers[next(iter(self._speakers))]

    def reopened(self, offset: int) -> None:
        self._since = -1

    def add_facts(self, facts: FileFacts) -> FileFacts:
        speakers = tuple(RaySpeaker(name, pid, ip, at) for (name, pid, ip), at in self._speakers.items())
        said = replace(self._said, speakers=speakers)
        return facts if said == RaySaid() else replace(facts, ray=said)

    def _begin(self, line: Line, said: RaySaid) -> None:
        submission = self._said.submission  # `ray job submit` prints it before the driver joins
        self._said = replace(said, at=line.at, stamp=line.stamp, submission=submission)
        self._speakers.clear()
        self._since = line.offset

    def _know(self, **facts: Any) -> None:
        self._said = replace(self._said, **facts)


def together(files: Iterable[RaySaid | None]) -> RaySaid | None:
    """The files of a run put together: the session that was joined or started last, and all speakers."""
    said = [words for words in files if words is not None]
    if not said:
        return None
    last = max(said, key=lambda words: (words.joined is not None or words.started, words.at or 0.0))
    speakers = tuple(dict.fromkeys(speaker for words in said for speaker in words.speakers))
    return replace(
        last,
        sessions=tuple(dict.fromkeys(name for words in said for name in words.sessions)),
        submission=next((words.submission for words in said if words.submission), None),
        speakers=speakers[-MOST_SPEAKERS:],
    )


def _of_a_worker(line: Line) -> bool:
    """`(WorkerDict pid=954)`, `(TaskRunner pid=954, ip=10.0.0.2)`: Ray puts it before each line of a worker."""
    prefix = line.prefix
    return prefix.actor is not None and prefix.pid is not None and f"pid={prefix.pid}" in prefix.text
