"""Stacks of many ranks folded into classes by call path, the odd ones first.

The idea is STAT's (Arnold et al., IPDPS 2007): ranks on one call path are a class, and the place to look at is where the paths
part. The smallest class is where to look first. Two looks give the axis of time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.grouped import grouped
from hangtop.common.text import some
from hangtop.records.stack import Excerpt, Frame, Stack, Thread
from hangtop.stacks.activity import Activity, activity_of
from hangtop.stacks.frames import own, package_of

Step = tuple[str, str, int]
Motion = Literal["still", "within", "moved"]
"""Between two looks: nothing changed, other lines of the same functions, other functions."""


class StackClass(Struct, frozen=True):
    """Ranks that stand at the same place. `frames` are those of its first member, innermost first; `own` the user's among them.

    `parts_at`: place of the frame up to which, from outside in, all classes go together; `None` when there is one class only.
    """

    members: tuple[Stack, ...]
    activity: Activity
    own: frozenset[int]
    parts_at: int | None = None

    @property
    def frames(self) -> tuple[Frame, ...]:
        return self.activity.thread.frames

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted(stack.rank for stack in self.members if stack.rank is not None))

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(sorted(stack.pid for stack in self.members))


def number(stacks: Iterable[Stack], pids_by_rank: Mapping[int, int]) -> tuple[Stack, ...]:
    """The stacks with the ranks of their pids."""
    ranks = {pid: rank for rank, pid in pids_by_rank.items()}
    return tuple(replace(stack, rank=ranks.get(stack.pid, stack.rank)) for stack in stacks)


def _steps(known: Activity, *, lines: bool) -> tuple[Step, ...]:
    """The call path of a thread, outermost first, with the lines of the user's own frames or without: in library frames lines
    differ without meaning. Native functions without a symbol are addresses, which differ from process to process."""
    places = frozenset(own(known.thread.frames)) if lines else frozenset()
    steps = (
        ("?" if frame.function.startswith("0x") else frame.function, frame.file, frame.line if place in places else 0)
        for place, frame in enumerate(known.thread.frames)
    )
    return tuple(steps)[::-1]


def classes(stacks: Iterable[Stack]) -> tuple[StackClass, ...]:
    """The stacks folded by call path: smallest class first, classes that wait for their peers last, then by rank."""
    told = [(stack, known) for stack in stacks if (known := activity_of(stack))]
    # one that runs moves from line to line
    groups = grouped(told, lambda member: _steps(member[1], lines=not member[1].thread.runs))
    parting = _parting([_steps(group[0][1], lines=True) for group in groups.values()])
    found = [
        StackClass(
            members=tuple(stack for stack, _ in group),
            activity=group[0][1],
            own=frozenset(own(group[0][1].thread.frames)),
            parts_at=None if len(groups) < 2 or parting == 0 else len(steps) - parting,
        )
        for steps, group in groups.items()
    ]
    return tuple(sorted(found, key=_order))


def _parting(paths: list[tuple[Step, ...]]) -> int:
    """How many steps from outside in belong to all paths. A step counts when its function is the same; the first in which the
    lines differ is the last that counts, for there the ways part."""
    shared = 0
    for steps in zip(*paths, strict=False):
        if len({step[:2] for step in steps}) > 1:
            break
        shared += 1
        if len(set(steps)) > 1:
            break
    return shared


def parting_of(first: Activity, second: Activity) -> int | None:
    """How many frames from the outermost two stacks share before the first in which they differ; `None` where they do not. In
    library frames another line of one function is no difference."""
    paths = [_steps(first, lines=True), _steps(second, lines=True)]
    alike = 0
    for mine, theirs in zip(*paths, strict=False):
        if mine != theirs:
            return alike
        alike += 1
    return None if len(paths[0]) == len(paths[1]) else alike


def _order(stack_class: StackClass) -> tuple[bool, int, int]:
    first = min(stack_class.ranks, default=stack_class.pids[0])
    return (stack_class.activity.waits_for_peers or stack_class.activity.kind == "idle", len(stack_class.members), first)


def motion(before: Stack, now: Stack) -> Motion | None:
    """Whether a process moved between two looks; `None` when it is not the same process, or one look has no stack."""
    then, here = activity_of(before), activity_of(now)
    if then is None or here is None or (before.pid, before.started_ticks) != (now.pid, now.started_ticks):
        return None
    old, new = then.thread.frames, here.thread.frames
    if [frame.function for frame in old] != [frame.function for frame in new]:
        return "moved"
    return "still" if [frame.line for frame in old] == [frame.line for frame in new] else "within"


def stands_out(stack_class: StackClass, among: Iterable[StackClass]) -> bool:
    """Whether this class is one to look at: it waits for nobody's sake while others wait for their peers."""
    waiting = any(other.activity.waits_for_peers for other in among)
    return waiting and not stack_class.activity.waits_for_peers and stack_class.activity.kind not in ("idle", "loader_worker")


def only(
    stacks: Iterable[Stack], ranks: frozenset[int] | None = None, thread: str | None = None, function: str | None = None
) -> tuple[Stack, ...]:
    """The stacks of these ranks, with the threads whose name holds `thread` and that have a frame whose name holds `function`."""
    named, called = (thread or "").lower(), (function or "").lower()

    def fits(each: Thread) -> bool:
        is_in = function is None or any(called in frame.function.lower() for frame in each.frames)
        return is_in and named in each.name.lower()

    chosen = (stack for stack in stacks if ranks is None or stack.rank in ranks)
    kept = (replace(stack, threads=tuple(filter(fits, stack.threads))) for stack in chosen)
    return tuple(stack for stack in kept if stack.threads or (stack.problem and not thread and not function))


def each_thread(stacks: Iterable[Stack]) -> tuple[Stack, ...]:
    """Every thread as a stack of its own, so that `classes` folds all of them."""
    return tuple(replace(stack, threads=(thread,)) for stack in stacks for thread in stack.threads)


def excerpt_of(frame: Frame, excerpts: Iterable[Excerpt]) -> Excerpt | None:
    """The lines around this frame, if they were readable."""
    here = (excerpt for excerpt in excerpts if excerpt.file == frame.file)
    return next((excerpt for excerpt in here if excerpt.first <= frame.line < excerpt.first + len(excerpt.lines)), None)


def library_summary(frames: Iterable[Frame]) -> str:
    """`10 frames of ray, verl`: frames that are folded away, by package, most first."""
    listed = tuple(frames)
    packages = Counter(package_of(frame.file) or frame.file.rpartition("/")[2] for frame in listed)
    names = ", ".join(name for name, _ in packages.most_common(3))
    return f"{some(len(listed), 'frame')} of {names}"
