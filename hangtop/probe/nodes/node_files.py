"""The output files of the ranks on another node, wherever they lie there: followed part by part over its line, as those of Ray's
workers are over HTTP."""

from __future__ import annotations

import base64
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import count

from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.probe.ray.dashboard.node_logs import PART_BYTES, LogPart, RemoteLog
from hangtop.probe.ray.local.worker_files import WorkerLog

LIMIT_S, NEXT_S = 3.0, 0.02
MOST_FILES, MOST_A_LOOK = 32, 4
FIRST_QUESTION = 1 << 54
"""Beyond the numbers of all other questions."""
Output = tuple[str, bool]
"""Path there, and whether it is added to: what lies in such a file may be of an earlier run."""


class NodePlace(Struct, frozen=True):
    """A file on a node. `added`: as in `Output`."""

    node: str
    file: str
    added: bool

    def path(self, stream: str) -> str:
        """As it is shown."""
        return f"{self.node}:{clean_text(self.file)}"


class NodeParts:
    """Reads parts of files over the line to one node."""

    def __init__(self, link: NodeLink) -> None:
        self._link, self._numbers = link, count(FIRST_QUESTION)
        self._begun: set[str] = set()

    def read(self, place: NodePlace, stream: str, first: int | None) -> LogPart:
        """From `first` on, else the end of the file."""
        number, until = next(self._numbers), time.monotonic() + LIMIT_S
        from_end = place.added and place.file not in self._begun
        self._link.ask_part(number, place.file, first, PART_BYTES, from_end)
        part = LogPart(problem=f"{place.node} did not answer in time")
        while time.monotonic() < until:
            for record in self._link.answers(number):
                if "part" in record:
                    part = _part(record)
                    self._begun.add(place.file)
                if "asked" in record:
                    self._link.forget(number)
                    return LogPart(problem=clean_text(str(record["error"]))) if "error" in record else part
            time.sleep(NEXT_S)
        self._link.forget(number)
        return part


def _part(record: dict[str, object]) -> LogPart:
    if "problem" in record:
        return LogPart(problem=clean_text(str(record["problem"])))
    first, size, age_s, data = (record.get(name) for name in ("first", "size", "age_s", "data"))
    if not isinstance(first, int) or not isinstance(size, int) or not isinstance(age_s, int | float) or not isinstance(data, str):
        return LogPart(problem="it answers what is no part of a file")
    try:
        return LogPart(base64.b64decode(data, validate=True)[:PART_BYTES], first, size, float(age_s))
    except ValueError:
        return LogPart(problem="it answers what is no part of a file")


class NodeFiles:
    """Those of one node. A file stays when its rank is dead: its last lines are worth the most then."""

    def __init__(self, link: NodeLink) -> None:
        self._host, self._parts = link.host, NodeParts(link)
        self._logs: dict[str, RemoteLog] = {}
        self._ranks: dict[str, set[int]] = defaultdict(set)

    def follow(self, outputs: Iterable[tuple[int, Iterable[Output]]]) -> tuple[WorkerLog, ...]:
        """`outputs`: of the ranks there now. A file of several ranks is no one's."""
        for rank, files in outputs:
            for file, added in files:
                if file in self._logs or len(self._logs) < MOST_FILES:
                    self._ranks[file].add(rank)
                    self._logs.setdefault(file, RemoteLog(NodePlace(self._host, file, added), "", self._parts))
        alone = {file: next(iter(ranks)) if len(ranks) == 1 else None for file, ranks in self._ranks.items()}
        return tuple(WorkerLog(log.path, alone[file], None, log) for file, log in self._logs.items())

    def fetch(self, now: float) -> None:
        """What has come in the files that are due."""
        due = sorted((log for log in self._logs.values() if log.due_at <= now), key=lambda log: log.due_at)
        for log in due[:MOST_A_LOOK]:
            log.fetch(now)
