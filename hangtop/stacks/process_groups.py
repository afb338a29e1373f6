"""Which processes belong together, by their stacks alone: what they were started with, whether they wait at one place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable

from hangtop.records.stack import Frame, Stack
from hangtop.stacks.activity import NAMELESS, Activity, activity_of
from hangtop.stacks.frames import NO_FILE, DoingKind, own, owner

STARTERS = ("multiprocessing/process.py", "torch/multiprocessing/spawn.py")
"""The last frame of theirs calls the function that the program gave to its child."""
SERVERS = ("multiprocessing/managers.py",)
"""Who began here keeps books for the others, whatever else they began with."""
FOR_OTHERS: frozenset[DoingKind] = frozenset({"lock", "queue", "network", "pipe", "waits", "idle"})
"""Waits that a peer may end, in an event loop too. Who sleeps, or waits for a child, a thread or a file, waits for no peer."""
IN_STEP = FOR_OTHERS | {"sleep"}
"""Of those that also sleep at one place: they look whether something has come."""
HELPS = re.compile(r"(?i)load|fetch|data|reader|producer|feed")
"""Names of what waits side by side and is no rank: home-made loaders, all of which wait for room in one queue."""
WATCHES = re.compile(r"(?i)watch|monitor|wait|join|poll|supervis|launch|alive|main")


def entry(stack: Stack) -> Hashable | None:
    """Name and file of the function that multiprocessing started this process with; `None` where it did not, or for a pool's."""
    frames = stack.main.frames if stack.main is not None else ()
    begins = started(frames)
    if not 0 < begins < len(frames):
        return None
    inner = frames[begins - 1]  # a pool's worker is the library's own, and so is no entry
    serves = inner.file.endswith(SERVERS)
    return (inner.function, inner.file) if serves or owner(inner.file) == "user" else None


def started(frames: tuple[Frame, ...]) -> int:
    """Place of the innermost frame that started this process: what is further out its parent did. Their number where none did."""
    return next((place for place, frame in enumerate(frames) if _starts(frame)), len(frames))


def _starts(frame: Frame) -> bool:
    return frame.name in ("run", "_bootstrap", "_wrap") and frame.file.endswith(STARTERS)


def peers(stacks: Iterable[Stack]) -> frozenset[int]:
    """Pids of those that wait for their peers: in a collective that is known, else half of them at least at one place of a
    program of their own, as in `diagnosis/crowd.py`."""
    known = {stack.pid: seen for stack in stacks if (seen := activity_of(stack)) is not None}
    named = frozenset(pid for pid, seen in known.items() if seen.waits_for_peers)
    if named:
        return named
    places = {pid: _place(seen) for pid, seen in known.items()}
    most = Counter(place for place in places.values() if place is not None).most_common(1)
    if not most or most[0][1] < 2 or 2 * most[0][1] < len(known):
        return frozenset()
    return frozenset(pid for pid, place in places.items() if place == most[0][0])


def watches_children(parent: Stack, children: Iterable[Stack]) -> bool:
    """Whether a parent is a launcher, and no member itself: it waits for its children, or looks now and then whether they live.

    Who sleeps where its children were forked, or in a function that is named so, looks; elsewhere it is a member that sleeps.
    Children that are a pool without work make none: what their parent waits for was lost.
    """
    known, seen = activity_of(parent), [one for child in children if (one := activity_of(child)) is not None]
    if seen and all(child.kind == "idle" and not functions(child) for child in seen):
        return False
    if known is None or known.kind in ("child", "join"):
        return True
    ways = {name for child in seen for name, _ in functions(child)}
    inner = next(iter(functions(known)), ("", ""))[0]
    return known.kind == "sleep" and (inner in ways or WATCHES.search(inner) is not None)


def waits_within(seen: Activity) -> bool:
    """Whether only a thread of its own can end its wait: a lock, an event or a queue of threads. Those of multiprocessing, and
    results of a pool, may come from its children."""
    inner = next(iter(own(seen.thread.frames)), len(seen.thread.frames))
    files = [frame.file for frame in seen.thread.frames[:inner]]
    if any(part in file for file in files for part in ("multiprocessing/", "concurrent/futures/")):
        return False
    return any(file.endswith(("/threading.py", "/queue.py")) for file in files) or (seen.kind == "lock" and not files)


def takes_part(parent: Stack, children: Iterable[Stack]) -> bool:
    """Whether who started the others is one of them: it works, or waits where a child does, or for what no child can give it."""
    known, looks = activity_of(parent), list(children)
    if known is None or watches_children(parent, looks):
        return False
    ways = {functions(seen) for child in looks if (seen := activity_of(child)) is not None}
    return known.kind not in FOR_OTHERS or functions(known) in ways


def entries(stacks: Iterable[Stack]) -> dict[int, Hashable]:
    """By pid, what they were started with."""
    found = ((stack.pid, entry(stack)) for stack in stacks)
    return {pid: started for pid, started in found if started is not None}


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
