"""Which rank wrote a line. Learned from the log itself, since Ray prints pids, torchrun local ranks, and NCCL both."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.common.late_pattern import late_pattern
from hangtop.logs.extract.extractor import Extractor, FoundLine
from hangtop.logs.file_facts import FileFacts
from hangtop.logs.lines.block_lines import Line, Writer
from hangtop.records.log import RankLog

_LITERALS = ("nranks ", "GLOBAL_RANK: ", "[Gloo] Rank ", "rank ", "rank:", "rank=", "world_size", "world size", " processes")
"""Any text that tells a rank or the world size holds one of these."""

# Ranks of the whole run, not of a group in it (vLLM's `rank 0 in world size 2`, a trainer-engine group).
_RANK_TEXTS = tuple(
    late_pattern(pattern)
    for pattern in (
        r"\bcomm 0x[0-9a-f]+ rank (?P<rank>\d+) nranks (?P<world>\d+)",
        r"\bGLOBAL_RANK: (?P<rank>\d+), MEMBER: \d+/(?P<world>\d+)",
        r"^\[Gloo\] Rank (?P<rank>\d+) is connected to (?P<peers>\d+) peer ranks",
        r"(?i)(?<!local_)(?<!local )\brank[ =:]{1,2}(?P<rank>\d+)(?: of |/| world |,? world[_ ]size[:= ]{1,2})(?P<world>\d+)",
    )
)
_WORLD_TEXT = late_pattern(r"\busing world size: (\d+)|\bStarting with (\d+) processes|(?:^|\()world[_ ]size[:= ]+(\d+)")
_ROSTER = late_pattern(r"\bip=(?P<host>[\w.:]+), pid=(?P<pid>\d+)\) world_rank=(?P<rank>\d+), local_rank=(?P<local>\d+)")
"""Ray Train's list of its workers: a line about other processes (ray/train/v2/_internal/execution/worker_group)."""
_LOCAL = late_pattern(
    r"\brank\s*: (?P<rank>\d+) \(local_rank: (?P<of>\d+)\)"
    r"|(?:(?<!local_)(?<!local )\brank[=: ]{1,2}(?P<own>\d+)\b[^\r\n]{0,80}?)?\blocal[_ ]rank[=: ]{1,2}(?P<local>\d+)\b"
)
"""torchrun's table, and a line by a rank that tells both its numbers: on the second node local rank 5 is rank 13."""
_NAMED_ACTOR = late_pattern(r"[A-Za-z]\w*_0:(\d+)")
"""The name of a worker of verl on the first node, where its local rank is its rank (single_controller/ray/base.py)."""
_SPEAKS = late_pattern(r"[Rr]ank|RANK|world|processes")
_OF_A_GROUP = ("group_name", "is assigned as")


class RankTable(Extractor):
    """The ranks of the writers of one file. A pid may be known long before its rank: ask for the rank when it is needed."""

    literals = _LITERALS

    def __init__(self, rank: int | None = None) -> None:
        self.world: int | None = None
        self.file_rank = rank
        self._rank_of: dict[Writer, int] = {}
        self._known: dict[int, RankLog] = {}
        self._locals = 0
        self._tasks_are_ranks = True
        self._task_of: dict[Writer, int] = {}
        self._group_size: dict[Writer, int] = {}

    def note_writer(self, line: Line) -> None:
        """Learns what the prefix of the line says."""
        prefix = line.prefix
        if prefix.world and prefix.world > (self.world or 0):
            self.world = prefix.world
        if prefix.local_rank is not None:
            self._locals = max(self._locals, prefix.local_rank + 1)
        if prefix.task is not None and (prefix.local_rank is not None or prefix.rank not in (None, prefix.task)):
            self._tasks_are_ranks = False
        if prefix.task is not None and prefix.pid is not None:
            self._task_of[line.writer] = prefix.task
        if prefix.rank is not None:
            self._note(line, prefix.rank)
        elif prefix.actor and (named := _NAMED_ACTOR.fullmatch(prefix.actor.strip())):
            self._note(line, int(named[1]))

    def read(self, found: FoundLine) -> None:
        """Learns the rank of the writer, if the message tells it."""
        line = found.line
        if not _SPEAKS.search(line.text) or any(word in line.text for word in _OF_A_GROUP):
            return
        if told := _ROSTER.search(line.text):
            self._enlist(told["host"], int(told["pid"]), int(told["rank"]), int(told["local"]))
            return
        self._note_local(line)
        for pattern in _RANK_TEXTS:
            if told := pattern.search(line.text):
                groups = told.groupdict()
                size = int(groups.get("world") or int(groups.get("peers") or 0) + 1)
                self._member(line, int(groups["rank"]), size)
                return
        if told := _WORLD_TEXT.search(line.text):
            self.world = max(self.world or 0, int(told[1] or told[2] or told[3]))

    def rank_of(self, writer: Writer) -> int | None:
        """The global rank of a writer; `None` when nothing tells it."""
        if not writer:
            return 0 if self.file_rank is None and self.world == 1 else self.file_rank
        if writer[0] == "rank" and isinstance(writer[1], int):
            return writer[1]
        known = self._rank_of.get(writer)
        if known is not None:
            return known
        match writer:
            case ("local", "", int(local)):
                return local if self.file_rank is None else self.file_rank
            case ("local", task, int(local)):
                return int(task) * self._locals + local
            case ("task", int(task)):
                return task if self._tasks_are_ranks else None
            case ("part", int(part)):
                return part
            case ("pid", _, _) if self._tasks_are_ranks and writer in self._task_of:
                return self._task_of[writer]
        return self.file_rank

    def ranked(self, writer: Writer) -> Writer:
        """The writer by its rank, if that is known: NCCL prints the pid where the training script prints the rank."""
        rank = self.rank_of(writer)
        return writer if rank is None or (writer and writer[0] == "rank") else ("rank", rank)

    def rank_of_pid(self, pid: int) -> int | None:
        """The rank of a process on an unnamed host; `None` if it is unknown."""
        return next((rank for writer, rank in self._rank_of.items() if writer[0] == "pid" and writer[2] == pid), None)

    def add_facts(self, facts: FileFacts) -> FileFacts:
        return replace(facts, rank=self.file_rank, ranks=tuple(self._known.values()), world=self.world)

    def _member(self, line: Line, rank: int, size: int) -> None:
        """Of the groups that a writer names, the largest is the whole run."""
        if rank >= size or size < self._group_size.get(line.writer, 0) or (line.writer and line.writer[0] == "rank"):
            return
        self._group_size[line.writer] = size
        self.world = max(self.world or 0, size)
        self._note(line, rank)

    def _note_local(self, line: Line) -> None:
        told = _LOCAL.search(line.text) if "ocal" in line.text else None
        if told is None:
            return
        rank = told["rank"] or told["own"] or line.prefix.rank
        if told["rank"]:  # the rank that failed: if two nodes write one log, it is this one that counts
            self._rank_of["local", "", int(told["of"])] = int(rank or 0)
        elif rank is not None:
            self._rank_of.setdefault(("local", "", int(told["local"])), int(rank))

    def _enlist(self, host: str, pid: int, rank: int, local_rank: int) -> None:
        """Also without the host: Ray prints no address before the lines of its own node."""
        self._rank_of["pid", host, pid] = rank
        self._rank_of.setdefault(("pid", "", pid), rank)
        self._known[rank] = replace(self._known.get(rank) or RankLog(rank), pid=pid, local_rank=local_rank)
        self.world = max(self.world or 0, rank + 1)

    def _note(self, line: Line, rank: int) -> None:
        prefix = line.prefix
        if line.writer and line.writer[0] != "rank":
            self._rank_of[line.writer] = rank
        if prefix.pid is not None:
            self._rank_of["pid", prefix.host or "", prefix.pid] = rank
        if prefix.local_rank is not None:
            self._rank_of["local", str(prefix.task) if prefix.task is not None else "", prefix.local_rank] = rank
        known = self._known.get(rank)
        if known is not None and prefix.local_rank is None and not (prefix.world or prefix.host or prefix.pid or prefix.actor):
            return
        known = known or RankLog(rank)
        self._known[rank] = RankLog(
            rank,
            world=prefix.world or known.world,
            local_rank=prefix.local_rank if prefix.local_rank is not None else known.local_rank,
            host=prefix.host or known.host,
            pid=prefix.pid or known.pid,
            actor=prefix.actor or known.actor,
        )
