"""The process that a message is about, which may be another than the one that prints it."""

from __future__ import annotations

from itertools import chain, islice

from msgspec import Struct

from hangtop.common.late_pattern import late_pattern
from hangtop.logs.extract.line_ranks import RankTable
from hangtop.logs.lines.block_lines import Line, Lines, Span

_RANKS = (
    late_pattern(r"\b(?:srun|slurmstepd)\b.{0,80}?\btasks? (?P<rank>\d+)(?=[:,\-])"),
    late_pattern(r"\b(?:process rank|invoked on rank|Rank) (?P<rank>\d+) (?:with PID|in communicator|scheduler is dead)"),
    late_pattern(r"\brank: (?P<rank>\d+) \(local_rank: \d+\)"),
    late_pattern(
        r"(?<![Ll]oader )\b(?:[Rr]ank|[Ww]orker|[Tt]rainer)[ :#=]?(?P<rank>\d+)(?: \([^()]{1,60}\))? "
        r"(?:(?:has|was|got|is) )?(?:died|exited|crashed|failed|killed|dead|terminated)\b"
    ),
    late_pattern(r"\[Rank (?P<rank>\d+)\] Watchdog caught collective operation timeout"),
    late_pattern(r"\bworker errors: +\[Rank (?P<rank>\d+)[^\]\r\n]{0,40}\]:"),
    late_pattern(r"(?:\brepr=|\bray::)[A-Za-z]\w*_0:(?P<rank>\d+)\b"),
)
"""Words of launchers, of shells' loops, of torch's older watchdogs, of Ray Train, and of Ray with the name that a colocated
worker of verl has on the first node."""
_LOCAL_RANK = late_pattern(
    r"\blocal_rank: (?P<local_rank>\d+)|\b[Pp]rocess (?P<spawned>\d+) terminated with (?:exit code|signal|the following)"
)
"""torchrun's and torch.multiprocessing's (spawn.py) words."""
_PID = late_pattern(r"\bWorker PID: (\d+)|ray::(?!TaskRunner)[\w.<>]+\(\) \(pid=(\d+)|^\s*pid: (\d+)$|, pid=(\d+), memory used=")
_SUMMARY_RANK = late_pattern(r"^\s*rank\s*: (?P<rank>\d+) \(local_rank: \d+\)")
_ACTOR_NAME = late_pattern(r"^\s*name: \w*_0:(?P<rank>\d+)$")
_LINES_ABOVE, _LINES_BELOW, _LINES_OF_MEMORY = 5, 8, 48
_LOW_ON_MEMORY = "low on memory"
_SELECTED = "Selected to kill: ("
_ITS_RANK = late_pattern(r"\btask name=\w*_0:(?P<rank>\d+):")
_ITS_PID = late_pattern(r" pid=(?P<pid>\d+), actual memory used=(?P<size>[\d.]+)GB")
"""Ray's memory monitor tells whom it chose behind its figures (src/ray/raylet/worker_killing_policy.cc)."""


class MessageOrigin(Struct, frozen=True):
    """The process that a message is about, as far as it names one."""

    rank: int | None = None
    local_rank: int | None = None
    pid: int | None = None

    def rank_in(self, ranks: RankTable) -> int | None:
        """Its global rank."""
        if self.rank is not None:
            return self.rank
        if self.local_rank is not None:
            return ranks.rank_of(("local", "", self.local_rank))
        return None if self.pid is None else ranks.rank_of_pid(self.pid)


def origin_of(line: Line, lines: Lines, span: Span) -> MessageOrigin | None:
    """Named in the message, above it (torchrun's table) or below it (Ray's details)."""
    if (named := named_in(line.text)) is not None:
        return named
    if "exitcode" in line.text:
        above = chain(lines.drawn_over(span), lines.above(span))
        rows = (_SUMMARY_RANK.match(line.text) for line in islice(above, _LINES_ABOVE))
        return next((MessageOrigin(rank=int(row["rank"])) for row in rows if row), None)
    if _LOW_ON_MEMORY in line.text:
        return _selected(lines, span)
    return _below(lines, span) if "ctor" in line.text else None


def named_in(text: str) -> MessageOrigin | None:
    """The process that the text of a message names."""
    for pattern in _RANKS:
        if found := pattern.search(text):
            return MessageOrigin(rank=int(found["rank"]))
    if found := _LOCAL_RANK.search(text):
        return MessageOrigin(local_rank=int(found["local_rank"] or found["spawned"]))
    pid = pid_in(text)
    return None if pid is None else MessageOrigin(pid=pid)


def _below(lines: Lines, span: Span) -> MessageOrigin | None:
    pid: int | None = None
    for below in islice(lines.below(span), _LINES_BELOW):
        if found := _ACTOR_NAME.match(below.text):
            return MessageOrigin(rank=int(found["rank"]))
        pid = pid_in(below.text) or pid
    return MessageOrigin(pid=pid) if pid else None


def _selected(lines: Lines, span: Span) -> MessageOrigin | None:
    """Of those that were chosen the one that used most: the newest is often chosen first, and holds next to nothing."""
    below = (line.text for line in islice(lines.below(span), _LINES_OF_MEMORY))
    chosen = [(text, pid) for text in below if text.startswith(_SELECTED) and (pid := _ITS_PID.search(text))]
    if not chosen:
        return None
    text, told = max(chosen, key=lambda each: float(each[1]["size"]))
    rank = _ITS_RANK.search(text)
    return MessageOrigin(rank=None if rank is None else int(rank["rank"]), pid=int(told["pid"]))


def pid_in(text: str) -> int | None:
    """The pid of the worker that a message of Ray names."""
    found = _PID.search(text)
    return int(found[found.lastindex or 0]) if found else None
