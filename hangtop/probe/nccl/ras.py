"""NCCL's RAS port: what NCCL itself knows of the job. On by default since 2.24, at localhost:28028 (NCCL_RAS_ADDR).

The protocol is lines of text (src/ras/client_support.cc, docs of NCCL 2.31): JSON since 2.28.7, before that a report for people.
A query collects from all processes of the job and may take seconds.
"""

from __future__ import annotations

import socket
import time

import msgspec

from hangtop.common.clean_text import clean_text
from hangtop.common.late_pattern import late_pattern
from hangtop.records.nccl import CommRank, CommStatus, Communicator

ADDRESS = ("localhost", 28028)
LIMIT_S = 8.0
COLLECT_S = 5
CONNECT_S = 1.0
MAX_BYTES = 64_000_000
IN_PROGRESS = 7
"""ncclInProgress in nccl.h."""


class RasError(Exception):
    """The port answered, but not with what can be read. The message is one line."""


def query(address: tuple[str, int] = ADDRESS, limit_s: float = LIMIT_S) -> str:
    """The status of the job, as JSON or as text. Raises `OSError` when nothing listens or the limit passes, `RasError` else."""
    ends = time.monotonic() + limit_s
    with socket.create_connection(address, timeout=min(CONNECT_S, limit_s)) as port:
        lines = _Lines(port, ends)
        if not lines.say("CLIENT PROTOCOL 2").startswith("SERVER PROTOCOL"):
            raise RasError(f"what listens at {address[0]}:{address[1]} is not NCCL's RAS")
        lines.say(f"TIMEOUT {COLLECT_S}")
        lines.say("SET FORMAT json")  # older ones refuse it and go on in text
        port.sendall(b"STATUS\n")
        return lines.rest()


class _Lines:
    """The socket by lines, with one deadline."""

    def __init__(self, port: socket.socket, ends: float) -> None:
        self._port, self._ends, self._left = port, ends, b""

    def say(self, words: str) -> str:
        """Send a command and return its one line of answer."""
        self._port.sendall(words.encode() + b"\n")
        while b"\n" not in self._left:
            self._more()
        line, _, self._left = self._left.partition(b"\n")
        return line.decode("utf-8", "replace")

    def rest(self) -> str:
        """Everything until the other side closes."""
        while self._more() and len(self._left) < MAX_BYTES:
            pass
        return self._left.decode("utf-8", "replace")

    def _more(self) -> bool:
        left_s = self._ends - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("NCCL's RAS did not answer in time")
        self._port.settimeout(left_s)
        got = self._port.recv(1 << 16)
        if not got and not self._left:
            raise RasError("NCCL's RAS closed the connection")
        self._left += got
        return bool(got)


class _Status(msgspec.Struct, frozen=True):
    init_state: int = 0
    async_error: int = 0
    finalize_called: bool = False
    destroy_flag: bool = False
    abort_flag: bool = False
    considered_dead: bool = False


class _Rank(msgspec.Struct, frozen=True):
    rank: int
    host: str | None = None
    pid: int | None = None
    nvml_dev: int | None = None
    status: _Status = _Status()
    collective_counts: dict[str, int] = {}


class _Comm(msgspec.Struct, frozen=True):
    hash: str
    size: int
    ranks: tuple[_Rank, ...] = ()
    missing_ranks: tuple[_Rank, ...] = ()


class _Report(msgspec.Struct, frozen=True):
    communicators: tuple[_Comm, ...] = ()
    nccl_version: str | None = None


_json = msgspec.json.Decoder(_Report)


def read(answer: str) -> tuple[tuple[Communicator, ...], str | None]:
    """The communicators in a status, and NCCL's version. Raises `RasError` for what is neither JSON nor the report."""
    if not answer.lstrip().startswith("{"):
        return read_text(answer)
    try:
        report = _json.decode(answer)
    except msgspec.DecodeError as error:
        raise RasError(f"NCCL's RAS said what this hangtop cannot read: {error}") from error
    return tuple(_communicator(comm) for comm in report.communicators), report.nccl_version


def _communicator(comm: _Comm) -> Communicator:
    present = [_member(rank, _status(rank.status)) for rank in comm.ranks]
    missing = [_member(rank, "dead" if rank.status.considered_dead else "missing") for rank in comm.missing_ranks]
    members = sorted((*present, *missing), key=lambda rank: rank.rank)
    most: dict[str, int] = {}
    for rank in present:
        for operation, count in rank.counts.items():
            most[operation] = max(count, most.get(operation, 0))
    return Communicator(clean_text(comm.hash), comm.size, tuple(members), most)


def _member(rank: _Rank, status: CommStatus) -> CommRank:
    counts = {clean_text(name): count for name, count in rank.collective_counts.items()}
    return CommRank(rank.rank, rank.pid, clean_text(rank.host) if rank.host else None, rank.nvml_dev, status, counts)


def _status(status: _Status) -> CommStatus:
    if status.abort_flag:
        return "aborted"
    if status.async_error not in (0, IN_PROGRESS) or status.init_state not in (0, IN_PROGRESS):
        return "error"
    if status.finalize_called or status.destroy_flag:
        return "finalizing"
    return "init" if status.init_state == IN_PROGRESS else "ok"


_HEAD = late_pattern(r"^#(\d+)-(\d+) \((\w+)\) (INCOMPLETE|MISMATCH|ERROR)")
_WHICH = late_pattern(r"different (\w+) operation counts")
_MANY = late_pattern(r"^\s+(\d+) ranks have (?:launched up to operation (\d+)|not launched any operations)")
_ONE = late_pattern(r"^\s+Rank (\d+)(?: has launched up to operation (\d+)| has not launched any operations)?(?: --|$)")
_WHO = late_pattern(r"GPU (\d+)\S* managed by process (\d+) on node (\S+)")
_MISSING = late_pattern(r"^\s+The missing ranks?: ([\d, ]+)")
_VERSION = late_pattern(r"NCCL version (\S+)")


def read_text(answer: str) -> tuple[tuple[Communicator, ...], str | None]:
    """The report for people, which has only communicators with a problem."""
    if "ommunicator" not in answer:
        raise RasError("NCCL's RAS said what this hangtop cannot read")
    version = _VERSION.search(answer)
    found: dict[str, _Text] = {}
    part: _Text | None = None
    for line in answer.splitlines():
        if head := _HEAD.match(line):
            part = found.setdefault(head[3], _Text(head[3]))
            part.kind = head[4]
        elif part is not None and line.strip():
            part.take(line)
        elif not line.strip():
            part = None
    return tuple(part.communicator() for part in found.values()), version[1] if version else None


class _Text:
    """One communicator of the report, line by line."""

    def __init__(self, name: str) -> None:
        self.kind = ""
        self._id = name
        self._operation = "collective"
        self._count: int | None = None
        self._most: dict[str, int] = {}
        self._ranks: dict[int, CommRank] = {}

    def take(self, line: str) -> None:
        if which := _WHICH.search(line):
            self._operation, self._count = which[1], None
        elif many := _MANY.match(line):
            self._count = int(many[2] or 0)
            self._most[self._operation] = max(self._count, self._most.get(self._operation, 0))
        elif missing := _MISSING.match(line):
            for rank in missing[1].replace(",", " ").split():
                self._add(int(rank), "missing", None, line)
        elif one := _ONE.match(line):
            launched = "operation" in line
            status: CommStatus = "missing" if self.kind == "INCOMPLETE" else "error" if self.kind == "ERROR" else "ok"
            self._add(int(one[1]), status, int(one[2] or 0) if launched else self._count, line)

    def _add(self, rank: int, status: CommStatus, count: int | None, line: str) -> None:
        who = _WHO.search(line)
        before = self._ranks.get(rank, CommRank(rank))
        counts = dict(before.counts)
        if count is not None and self.kind == "MISMATCH":
            counts[self._operation] = count
            self._most[self._operation] = max(count, self._most.get(self._operation, 0))
        pid, host, gpu = (int(who[2]), clean_text(who[3]), int(who[1])) if who else (before.pid, before.host, before.gpu)
        self._ranks[rank] = CommRank(rank, pid, host, gpu, status if status != "ok" else before.status, counts)

    def communicator(self) -> Communicator:
        ranks = tuple(self._ranks[rank] for rank in sorted(self._ranks))
        return Communicator(self._id, None, ranks, self._most)
