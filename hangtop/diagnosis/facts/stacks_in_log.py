"""Stacks that ranks or people printed into the log (py-spy, faulthandler, gdb, Ctrl+C), and who by them stands apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.grouped import grouped
from hangtop.common.memo import memoized
from hangtop.common.text import numbered
from hangtop.diagnosis.members.parallel_groups import PAIRWISE
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import LogLine
from hangtop.records.stack import Frame, Stack
from hangtop.records.verdict import Culprit
from hangtop.stacks.activity import Activity, activity_of, waits_within
from hangtop.stacks.frames import owner, rule
from hangtop.stacks.gdb_stacks import gdb_stacks
from hangtop.stacks.interrupted import interrupted_stacks
from hangtop.stacks.printed_stacks import printed_stacks

_PID = re.compile(r"\bpid=(\d{1,10})\)")
"""In the prefix of a line: `(TaskRunner pid=812)`."""
_DUMPED = re.compile(r"\bPID (\d{1,10})\b")
"""SGLang says so before what py-spy prints: `Pyspy dump for PID 812:`."""
WAIT = "wait"
"""The handle of any collective: the frames around it tell of which."""
_OF_LIBRARY = re.compile(r"(?:^|/)(?:deepspeed|torch)/")
OF_ZERO = "deepspeed/runtime/zero/partition_parameters.py"
MOST_NAMED = 4
PLAIN = frozenset({"user", "waits", "collective", "backward", "gpu"})
"""What a process may be in while its peers wait elsewhere, that tells of no reason of its own."""
ANYONE = frozenset({"forward", "__call__", "_call_impl", "forward_impl"})
"""Names that the functions of all modules have: only the line tells one from another."""


class Printed(Struct, frozen=True):
    """What one process did, by the last stack of it in the log."""

    stack: Stack
    does: Activity

    @property
    def name(self) -> str:
        return f"rank {self.stack.rank}" if self.stack.rank is not None else f"pid {self.stack.pid}" if self.stack.pid else "it"

    @property
    def waits(self) -> bool:
        """Whether it waits for its peers: in a collective, or in a kernel that it launched ahead."""
        return self.does.waits_for_peers or self.does.kind == "gpu"

    @property
    def called(self) -> str:
        """The collective in which it waits."""
        inner = (frame.name for frame in self.does.thread.frames if rule(frame) == "collective")
        return next((name for name in inner if name != WAIT), self.does.called)

    @property
    def gathers_weights(self) -> bool:
        """Whether it waits for the weights of a module, which under ZeRO-3 all ranks gather when any of them runs it."""
        return self.called == WAIT and self.does.call.file.endswith(OF_ZERO)

    @property
    def module(self) -> Frame:
        """The function of the module whose weights it gathers: the innermost one outside of the libraries that gather them."""
        frames = self.does.thread.frames
        if owner(self.does.own.file) == "user":
            return self.does.own
        return next((frame for frame in frames if not _OF_LIBRARY.search(frame.file)), self.does.own)

    @property
    def words(self) -> str:
        """`in all_reduce (loss.py:12)`."""
        if self.gathers_weights:
            return f"gathers weights in {self.module.name} ({_where(self.module)})"
        text = f"in {self.called}" if self.does.kind == "collective" else self.does.text
        return f"{text} ({self.does.where})"


@memoized
def stacks_in_log(snapshot: Snapshot) -> tuple[Stack, ...]:
    """Those behind the last step, each with the rank that printed it, or that its process is told to be. A
    number that two processes have is no rank of the run: each node counts its own."""
    every = snapshot.state.tail
    tail = every[max((place + 1 for place, line in enumerate(every) if line.kind == "progress"), default=0) :]
    dumped = {int(pid): line.rank for line in tail for pid in _DUMPED.findall(line.text) if line.rank is not None}
    stacks = list(_printed_stacks(tail, dumped))
    named = Counter(rank for rank, _ in {(stack.rank, stack.pid) for stack in stacks})
    return tuple(stack if named[stack.rank] == 1 else replace(stack, rank=None) for stack in stacks)


def _printed_stacks(tail: Iterable[LogLine], dumped: Mapping[int, int]) -> Iterator[Stack]:
    for (rank, _, pid), lines in grouped(tail, key=lambda line: (line.rank, line.file, _pid_of(line))).items():
        texts = [line.text for line in lines]
        for stack in (*printed_stacks(texts), *gdb_stacks(texts), *interrupted_stacks(texts)):
            known = (each for each in (rank, stack.rank, dumped.get(stack.pid)) if each is not None)
            yield replace(stack, rank=next(known, None), pid=stack.pid or pid)


def _pid_of(line: LogLine) -> int:
    """The pid in the prefix of a line; 0 without one."""
    return int(found[1]) if (found := _PID.search(line.prefix)) is not None else 0


@memoized
def printed(snapshot: Snapshot) -> tuple[Printed, ...]:
    """What each process did, by its last stack in the log."""
    last: dict[tuple[int | None, int], Printed] = {}
    for stack in stacks_in_log(snapshot):
        if (known := activity_of(stack)) is not None:
            last[stack.rank, stack.pid] = Printed(stack, known)
    return tuple(last.values())


def parted(snapshot: Snapshot) -> str:
    """Where the processes stand that printed their stacks, if not together: `rank 0 in all_reduce (loss.py:8), ranks 1 and 2 in
    broadcast (sync.py:40)`; empty where nothing is told. Of what goes on between two ranks each end has its own call."""
    told = printed(snapshot)
    waiting = [each for each in told if each.does.waits_for_peers]
    unclear = any(each.called in PAIRWISE or (each.called == WAIT and not each.gathers_weights) for each in waiting)
    if not waiting or unclear or not all(each.waits for each in told):
        return ""
    places = grouped(told, _way)
    return ", ".join(f"{_names(group)} {group[0].words}" for group in places.values()) if len(places) > 1 else ""


def left_alone(snapshot: Snapshot) -> tuple[str, str]:
    """Those that are accused by the stacks in the log with where they stand, and where all others wait together: `rank 0 in
    step (train.py:40)`, `barrier (save.py:12)`; empty where nothing is told."""
    told = printed(snapshot)
    odd = {(one.rank, one.pid) for one in printed_apart(snapshot)}
    apart = [each for each in told if (each.stack.rank, each.stack.pid or None) in odd]
    others = [each for each in told if each not in apart]
    joint = {(each.called, each.does.where) for each in others if each.does.waits_for_peers}
    if any(each.does.kind not in PLAIN for each in apart):  # which its own place explains
        return "", ""
    if not apart or len(others) <= len(apart) or len(joint) != 1 or not all(each.does.waits_for_peers for each in others):
        return "", ""
    call, where = joint.pop()
    stand = ", ".join(f"{each.name} {_stands(each)}" for each in apart[:MOST_NAMED])
    return stand, f"{call} ({where})"


def kept_waiting(snapshot: Snapshot) -> tuple[str, str]:
    """Who waits for data in a queue, and where all others wait for it together: `pid 8802 waits for a queue in __next__
    (stream.py:131)`, `barrier (train.py:219)`; empty where nothing is told."""
    told = printed(snapshot)
    late = [each for each in told if each.does.kind == "queue"]
    joint = {(each.called, each.does.where) for each in told if each not in late and each.does.waits_for_peers}
    if len(late) != 1 or len(joint) != 1 or not all(each.does.waits_for_peers for each in told if each not in late):
        return "", ""
    call, where = joint.pop()
    return f"{late[0].name} {late[0].words}", f"{call} ({where})"


def _stands(each: Printed) -> str:
    return each.words if each.waits else f"in {each.does.own.name} ({each.does.where})"


def _way(each: Printed) -> str:
    """What it waits in. Of the wait for the weights of a module (ZeRO-3), in which function of the program."""
    if not each.does.waits_for_peers:
        return each.does.text
    if not each.gathers_weights:
        return each.called
    return _where(each.module) if each.module.name in ANYONE else each.module.name


def _where(frame: Frame) -> str:
    return f"{PurePath(frame.file).name}:{frame.line}"


def _names(group: Iterable[Printed]) -> str:
    ranks = [each.stack.rank for each in group if each.stack.rank is not None]
    pids = [each.name for each in group if each.stack.rank is None]
    return ", ".join(
        [*([numbered("rank", ranks)] if ranks else []), *pids[:MOST_NAMED], *(["…"] if len(pids) > MOST_NAMED else [])]
    )


def printed_apart(snapshot: Snapshot) -> tuple[Culprit, ...]:
    """The processes whose last stack is in no collective while those of most others are, or in another one than most; of a single
    stack its process, if nobody else can end what it does."""
    told = printed(snapshot)
    apart = [each for each in told if not each.waits]
    if 2 * len(apart) >= len(told):
        alone = len(told) == 1 and (told[0].does.kind == "user" or waits_within(told[0].does))
        return _accused(snapshot, told) if alone else ()
    return _accused(snapshot, apart or _other_than_most(told))


def _other_than_most(told: Sequence[Printed]) -> list[Printed]:
    """Those in another collective than most; nobody where the other end of a call may rightly be in another."""
    calls = Counter(each.called for each in told)
    most, size = calls.most_common(1)[0]
    ahead = any(each.does.kind == "gpu" for each in told)  # its kernels run on, so that its place in the program tells nothing
    if ahead or 2 * size <= len(told) or most in PAIRWISE or WAIT in calls:
        return []
    odd = [each for each in told if each.called != most]
    if any(each.called in PAIRWISE for each in odd):  # of which the other end may be in this collective: then all but it are
        joint = len({each.does.where for each in told if each.called == most}) == 1
        return odd if len(odd) == 1 and size > 1 and joint else []
    return odd


def _accused(snapshot: Snapshot, whom: Iterable[Printed]) -> tuple[Culprit, ...]:
    pids = snapshot.pid_of
    named = sorted(
        (each for each in whom if each.stack.rank is not None or each.stack.pid), key=lambda each: each.stack.rank or 0
    )
    return tuple(
        Culprit(
            each.stack.rank,
            each.stack.pid or (None if each.stack.rank is None else pids.get(each.stack.rank)),
            None,
            "likely",
            (f"{each.words}, by the stack that it printed",),
        )
        for each in named
    )
