"""The output of workers on other nodes: where it is, parts of it over HTTP, and one file followed part by part.

Parts come from the node's agent, which serves its session's `logs` folder with byte ranges
(ray/dashboard/modules/log/log_agent.py), so that only new bytes travel and the head has no work. Else from the dashboard: its
`/api/v0/logs/file` reaches every node, but gives whole lines only, and a long progress bar, one endless line, from its beginning.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol, TypeVar
from urllib.parse import quote

from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.common.text import some
from hangtop.probe.http.answer import Answer
from hangtop.probe.log.tail import Appended, Event, Opened
from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.http import Dashboard
from hangtop.probe.ray.dashboard.poll import ApiView
from hangtop.probe.ray.dashboard.token import AuthToken
from hangtop.records.log import FileStatus

STREAMS = ("out", "err")
"""Each worker has two output files; tqdm bars go to `err`."""
PART_BYTES = 16 << 10
MOST_LINES = 50
LONGEST_LINES_BYTES = 256 << 10
"""The most bytes that the dashboard may send for `MOST_LINES` lines."""
AGENT_AGAIN_S = 60.0
"""An agent that could not be reached is tried again after this."""
NO_FILE = "not written yet, or removed"
NOBODY = "its node's agent does not answer, and this cluster has no dashboard to ask"
_RANGE = re.compile(r"bytes (?:(?P<first>\d{1,18})-\d+|\*)/(?P<size>\d{1,18})")
KEPT_BYTES = 32 << 10
SOON_S, LATE_S = 4.0, 60.0
"""Pause after a file grew; it doubles each time that the file did not, up to the second."""
THROUGH_HEAD_S = 16.0
"""Least pause through the dashboard: the head has work with each request and sends all lines again."""
OVERLAP_BYTES = 256


class WorkerPlace(Struct, frozen=True):
    """A worker on its node. `agent`: `host:port` of the node's agent, `None` where it has no HTTP port."""

    node: str
    host: str
    pid: int
    worker: str
    job: str
    folder: str
    agent: str | None = None

    def file(self, stream: str) -> str:
        """The name of its output file (python/ray/_private/utils.py, `get_worker_log_file_name`)."""
        return f"worker-{self.worker}-{self.job}-{self.pid}.{stream}"

    def path(self, stream: str) -> str:
        return f"{self.host}:{self.folder}/logs/{self.file(stream)}"


def place_of(actor_id: str, view: ApiView) -> WorkerPlace | None:
    """The place of this actor's worker; `None` while it has none, or its node is not known any more."""
    actor = view.actors.get(actor_id)
    seen = view.nodes.get(actor.address.node) if actor else None
    if actor is None or seen is None or not actor.pid or actor.address.worker_id in api_schema.NIL:
        return None
    raylet, ip = seen.summary.raylet, seen.summary.ip or actor.address.ip_address
    port = api_schema.number(raylet.dashboard_agent_listen_port)
    return WorkerPlace(
        node=actor.address.node,
        host=seen.summary.hostname or ip,
        pid=actor.pid,
        worker=actor.address.worker_id,
        job=actor.job_id,
        folder=raylet.session_dir.rstrip("/"),
        agent=f"{f'[{ip}]' if ':' in ip else ip}:{port}" if port > 0 and ip else None,
    )


class LogPart(Struct, frozen=True):
    """Bytes of a file from `first` on; `None` when only lines can be had. `size`: of the whole file.

    `age_s`: since it was last written, by its node's clock. `via`: the URL.
    """

    data: bytes = b""
    first: int | None = None
    size: int | None = None
    age_s: float | None = None
    via: str = ""
    problem: str = ""


class NodeLogs:
    """Reads log files on the nodes of one cluster. Several threads may ask, each about another node.

    `dashboard`: its `host:port`, where the cluster has one. `owner`: as for `Dashboard`.
    """

    def __init__(self, dashboard: str | None, find_token: Callable[[], AuthToken | None], owner: int | None = None) -> None:
        self._find_token, self._owner = find_token, owner
        self._dashboard = Dashboard(dashboard, find_token, owner=owner) if dashboard else None
        self._agents: dict[str, Dashboard] = {}
        self._again_at: dict[str, float] = {}

    def read(self, place: WorkerPlace, stream: str, after: int | None = None) -> LogPart:
        """At most `PART_BYTES` of an output file from byte `after` on; without `after`, or without an agent, the last ones."""
        address, name = place.agent, place.file(stream)
        if address is not None and time.monotonic() >= self._again_at.get(address, 0.0):
            agent = self._agents.setdefault(address, Dashboard(address, self._find_token, owner=self._owner))
            wanted = f"bytes=-{PART_BYTES}" if after is None else f"bytes={after}-{after + PART_BYTES - 1}"
            answer = agent.get(f"/logs/{quote(name)}", headers={"Range": wanted}, cut_bytes=PART_BYTES)
            if answer.status in (200, 206, 416):
                return _part(answer, after, f"http://{address}/logs/{name}")
            if answer.status == 404:
                return LogPart(problem=NO_FILE)
            self._again_at[address] = time.monotonic() + AGENT_AGAIN_S
        return self._lines(place, name)

    def close(self) -> None:
        for server in (self._dashboard, *self._agents.values()):
            if server:
                server.close()

    def _lines(self, place: WorkerPlace, name: str) -> LogPart:
        if self._dashboard is None:
            return LogPart(problem=NOBODY)
        path = f"/api/v0/logs/file?node_id={place.node}&filename={quote(name)}&lines={MOST_LINES}&timeout=2"
        answer = self._dashboard.get(path, cut_bytes=LONGEST_LINES_BYTES)
        if answer.cut:
            return LogPart(problem=f"its last {some(MOST_LINES, 'line')} are more than {LONGEST_LINES_BYTES >> 10} kB")
        if not answer.ok:
            said = clean_text(" ".join(answer.body[:200].decode(errors="replace").split())) if answer.status else answer.error
            return LogPart(problem=NO_FILE if "Could not find" in said else f"{answer.in_words}: {said}")
        return LogPart(answer.body, via=f"http://{self._dashboard.address}{path}")


def _part(answer: Answer, after: int | None, via: str) -> LogPart:
    told = _RANGE.match(answer.headers.get("content-range", ""))
    size = int(told["size"]) if told else len(answer.body)
    if answer.status == 416:  # there is nothing after it
        return LogPart(b"", size if after is None else after, size, _age_s(answer), via)
    first = int(told["first"]) if told and told["first"] else 0
    return LogPart(answer.body, first, size, _age_s(answer), via)


def _age_s(answer: Answer) -> float | None:
    """From the node's own clock."""
    from email.utils import parsedate_to_datetime  # 5 MB with what it imports, and most machines have no Ray

    try:
        now, written = (parsedate_to_datetime(answer.headers[name]) for name in ("date", "last-modified"))
    except (KeyError, ValueError, TypeError):
        return None
    return max(0.0, (now - written).total_seconds())


class Place(Protocol):
    """Where a file is. `node`: it is fetched from each node by one thread at a time."""

    @property
    def node(self) -> str: ...

    def path(self, stream: str) -> str: ...


P = TypeVar("P", bound=Place)
P_contra = TypeVar("P_contra", contravariant=True)


class Parts(Protocol[P_contra]):
    """Reads parts of files: from `first` on, else the newest part."""

    def read(self, place: P_contra, stream: str, first: int | None) -> LogPart: ...


class RemoteLog:
    """The last bytes of one output file, numbered from the first byte read, not as in the file. Followed like a file
    (`hangtop.probe.log.tail.Followed`).

    One thread fetches, another follows: the bytes are replaced as a whole.
    """

    not_kept: str | None = None
    drain: int | None = None

    def __init__(self, place: P, stream: str, logs: Parts[P]) -> None:
        self.place: Place = place
        self.path = place.path(stream)
        self.offset = 0
        self.modified_at: float | None = None
        self.problem: str | None = None
        self.due_at = 0.0
        self.first_bytes: int | None = None
        """How many bytes were there at the first fetch."""
        self._read: Callable[[int | None], LogPart] = partial(logs.read, place, stream)
        self._opened = False
        self._kept: tuple[int, bytes] = (0, b"")
        self._next: int | None = None
        self._pause_s = SOON_S

    @property
    def start(self) -> int:
        return self._kept[0]

    @property
    def end(self) -> int:
        start, data = self._kept
        return start + len(data)

    size_bytes = end

    @property
    def buffer(self) -> RemoteLog:
        return self

    @property
    def status(self) -> FileStatus:
        return "ok" if self.first_bytes is not None else "failed" if self.problem else "waiting"

    def pread(self, count: int, offset: int) -> bytes:
        """Up to `count` bytes from `offset` on; empty when they are dropped or not there yet."""
        start, data = self._kept
        return data[offset - start : offset - start + count] if offset >= start else b""

    def poll(self, now: float) -> Iterator[Event]:
        """What was fetched since the last poll; what was there at the first fetch is not live."""
        if self.first_bytes is None:
            return
        if not self._opened:
            self._opened = True
            yield Opened("first", 0)
        at = max(self.offset, self.start)
        if data := self.pread(KEPT_BYTES, at):
            self.offset = at + len(data)
            yield Appended(at, data, live=at >= self.first_bytes)

    def close(self) -> None:
        """Can be followed again then, from its beginning. The connections belong to the cluster."""
        self.offset, self._opened = 0, False

    def fetch(self, now: float) -> None:
        """Read new bytes. If more came than fits in one part, the newest part is read next and the gap is left out."""
        part = self._read(self._next)
        self.problem = part.problem or None
        grown = self._take(part, now)
        soon_s = THROUGH_HEAD_S if part.first is None and not part.problem else SOON_S
        self._pause_s = soon_s if grown else min(LATE_S, 2 * self._pause_s)
        behind = part.size is not None and self._next is not None and self._next < part.size
        self.due_at = now if behind else now + self._pause_s
        if part.size is not None and self._next != part.size:  # behind, or the file was cut
            self._next = None
        if not part.problem and self.first_bytes is None:
            self.first_bytes = self.end

    def _take(self, part: LogPart, now: float) -> bool:
        data = self._beyond(part.data) if part.first is None else self._next_bytes(part.first, part.data)
        if part.age_s is not None:
            self.modified_at = now - part.age_s
        elif data:
            self.modified_at = now
        if data:
            start, kept = self._kept
            both = kept + data
            cut = max(0, len(both) - KEPT_BYTES)
            self._kept = (start + cut, both[cut:])
        return bool(data)

    def _next_bytes(self, first: int, data: bytes) -> bytes:
        """The bytes to keep. After a gap the part begins inside a line, which is left out, and starts a new line."""
        gap, self._next = first != self._next, first + len(data)
        if gap and first:
            data = data[max(data.find(b"\n"), data.find(b"\r") if b"\n" not in data else -1) + 1 :]
        return b"\n" + data if gap and data and self.end else data

    def _beyond(self, lines: bytes) -> bytes:
        """The new ones among the last lines."""
        known = self._kept[1][-OVERLAP_BYTES:]
        at = lines.rfind(known) if known else -1
        return lines[at + len(known) :] if at >= 0 else lines
