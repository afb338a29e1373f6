"""Which processes belong together, by their stacks alone: what they were started with, whether they wait at one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from hangtop.common.late_pattern import late_pattern
from hangtop.records.stack import Frame, Stack
from hangtop.stacks.activity import NAMELESS, Activity, activities, activity_of
from hangtop.stacks.frames import NO_FILE, DoingKind, own, owner

STARTERS = ("multiprocessing/process.py", "torch/multiprocessing/spawn.py")
"""The last frame of theirs calls the function that the program gave to its child."""
SERVERS = ("multiprocessing/managers.py",)
"""A process that began here is a manager of multiprocessing, no rank."""
JOINS = ("multiprocessing/popen_fork.py", "torch/multiprocessing/spawn.py")
"""Where a process waits for those that it started."""
FOR_OTHERS: frozenset[DoingKind] = frozenset({"lock", "queue", "network", "pipe", "waits", "idle"})
"""Waits that a peer may end, in an event loop too. A sleep, or a wait for a child, a thread or a file, is for no peer."""
IN_STEP = FOR_OTHERS | {"sleep"}
"""Waits of peers that poll: they also sleep at one place."""
HELPS = late_pattern(r"(?i)load|fetch|data|reader|producer|feed")
"""Names of what waits side by side and is no rank: home-made loaders, all of which wait for room in one queue."""
WATCHES = late_pattern(r"(?i)watch|monitor|wait|join|poll|supervis|launch|alive|main")


def entries(stacks: Iterable[Stack]) -> dict[int, Hashable]:
    """By pid, name and file of the function that multiprocessing started a process with; a pool's worker has none of its own."""
    found: dict[int, Hashable] = {}
    for stack in stacks:
        frames = stack.main.frames if stack.main is not None else ()
        begins = started(frames)
        inner = frames[begins - 1] if 0 < begins < len(frames) else None
        if inner is not None and (inner.file.endswith(SERVERS) or owner(inner.file) == "user"):
            found[stack.pid] = (inner.function, inner.file)
    return found


def started(frames: tuple[Frame, ...]) -> int:
    """Place of the innermost frame that started this process: what is further out its parent did. Their number where none did."""
    starts = (frame.name in ("run", "_bootstrap", "_wrap") and frame.file.endswith(STARTERS) for frame in frames)
    return next((place for place, begins in enumerate(starts) if begins), len(frames))


def meet(stacks: Iterable[Stack]) -> bool:
    """Whether two or more of these processes wait for their peers: in a known collective, else at one place of the program where
    at least half of them wait, as in `diagnosis/status/majority.py`."""
    known = activities(stacks)
    if named := sum(seen.waits_for_peers for seen in known):
        return named > 1
    most = max(Counter(place for seen in known if (place := _place(seen)) is not None).values(), default=0)
    return most > 1 and 2 * most >= len(known)


def awaits_children(parent: Stack, children: Iterable[Stack]) -> bool:
    """Whether a parent waits until its children have ended, or for their results; nothing is known of one without a stack.

    Children that are a pool without work give none: what it waits for was lost.
    """
    known = activity_of(parent)
    return not _without_work(activities(children)) and (known is None or known.kind in ("child", "join"))


def joins_children(parent: Stack) -> bool:
    """Whether its main thread waits until processes of multiprocessing have ended, which it has started."""
    frames = parent.main.frames if parent.main is not None else ()
    return any(frame.file.endswith(JOINS) for frame in frames[: next(iter(own(frames)), len(frames))])


def works_in_threads(stack: Stack) -> bool:
    """Whether other threads of it than the main one are in the program's own functions."""
    others = (thread for thread in stack.threads if thread is not stack.main)
    return any(owner(frame.file) == "user" for thread in others for frame in thread.frames)


def watches_children(parent: Stack, children: Iterable[Stack]) -> bool:
    """Whether a parent is a launcher and no member itself: it waits for its children, or looks now and then whether they live.

    A parent that sleeps where its children were forked, or in a function with such a name, looks after them; a parent that
    sleeps elsewhere is a member.
    """
    looks = list(children)
    known, seen = activity_of(parent), activities(looks)
    if known is None or awaits_children(parent, looks) or _without_work(seen):
        return not _without_work(seen)
    ways = {way for child in seen for way in functions(child)}
    inner = next(iter(functions(known)), ("", ""))
    return known.kind == "sleep" and (inner in ways or WATCHES.search(inner[0]) is not None)


def _without_work(seen: list[Activity]) -> bool:
    """Whether these are a pool that nobody gives anything to do."""
    return bool(seen) and all(child.kind == "idle" and not functions(child) for child in seen)


def takes_part(parent: Stack, children: Iterable[Stack]) -> bool:
    """Whether a parent is a member like its children: it works, waits where a child does, or waits for what no child can give
    it."""
    known, looks = activity_of(parent), list(children)
    if known is None or watches_children(parent, looks):
        return False
    return known.kind not in FOR_OTHERS or functions(known) in {functions(seen) for seen in activities(looks)}


def _place(seen: Activity) -> Hashable | None:
    """The way through the user's own functions to a wait that a peer may end; none where its names say that it only helps."""
    frames = functions(seen)
    if seen.kind not in IN_STEP or not frames:
        return None
    return None if any(HELPS.search(name) for name, _ in frames) else frames


def functions(seen: Activity) -> tuple[tuple[str, str], ...]:
    """The way through the user's own functions, innermost first, each with its file. A generator or lambda is no way of its own:
    a root that sums over what it receives waits where its leaves do. What a parent did before it forked does not count."""
    frames = [seen.thread.frames[place] for place in own(seen.thread.frames) if place < started(seen.thread.frames)]
    ours = [frame for frame in frames if owner(frame.file) == "user" and frame.file != NO_FILE and frame.name not in NAMELESS]
    return tuple((frame.function, frame.file) for frame in ours)
