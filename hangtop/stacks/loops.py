"""Does a busy rank work, or loop for ever? Stacks often cannot tell: then it works, until it has been silent for long."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.records.process import Process, RecentActivity
from hangtop.records.stack import Excerpt, Frame, Loop, Stack
from hangtop.stacks.activity import Activity, activities, activity_of
from hangtop.stacks.frames import NO_FILE, DoingKind, own, owner
from hangtop.stacks.process_groups import started, watches_children

LOOKS = 2
LINES = 2
SPAN_S = 1.5
"""One function, at most two lines of it, over looks this far apart: a loop, or work that cannot be told from one."""
WORTH_A_CORE = 20.0
MORE_THAN_A_CORE = 130.0
WAKES_S = 0.4
"""Times a second; two in a look of five seconds."""
IO_BYTES_S = 1_000_000.0
"""Reading or writing this much is work: loads and saves were measured at hundreds of MB/s, idle ranks at 0."""
TURNS_CPU_PERCENT = 2.5
TURNS_CPU_S = 0.001
"""Processor time of one turn: polling needs 0.04 to 0.2 ms, trying to connect 0.5 ms (measured
on a crowded machine); a step of a simulator some ms."""
STARTED_LATE_S = 5.0
"""What the run started when it fell silent, or soon after, is what it may wait for in vain."""
ASKED: tuple[DoingKind, ...] = ("network", "remote")
FED: tuple[DoingKind, ...] = ("pipe", "queue")
LOOKS_AGAIN: tuple[Loop, ...] = ("waits", "asks", "rounds", "beats")
"""Loops that come back to a line until something has changed."""
WAITS_ONCE = ("/threading.py", "/queue.py", "/concurrent/futures/_base.py")
"""Files whose waits end when what they wait for has come, and wake nobody before."""
UNSEEN = RecentActivity(seconds=0.0, samples=0, running_part=0.0)

Looks = Sequence[tuple[float, Stack]]
Sources = Sequence[Excerpt]


def surely_loops(process: Process, known: Activity, stacks: Looks, sources: Sources) -> bool:
    """Its source shows that the loop it stands in does nothing but wait, or cannot be left (see `loop_exits.py`)."""
    if known.waits_for_peers or not _far_apart(stacks):
        return False
    if (process.cpu_percent or 0.0) < WORTH_A_CORE and not known.thread.runs:
        return False
    looks = activities(stack for _, stack in stacks)
    loops = {loop for seen in looks for loop in _loops_seen(seen, sources)}
    return loops in ({"waits"}, {"endless"}) and len({seen.function for seen in looks}) == 1 and not does_more(process)


def may_loop(process: Process, known: Activity, stacks: Looks) -> bool:
    """Burns one core in a few lines of one Python function that no name explains; C code on one line does so too.

    More than a core, bytes moved, or a named phase (save, load, evaluate, compile …) is work. So is what only one look saw, and C
    code that gave the GIL away: a loop in Python held it in 6 of 6 looks, zlib and hashlib in 0 of 6.
    """
    if known.phase is not None or known.kind != "user" or not _far_apart(stacks) or does_more(process):
        return False
    threads = [seen.thread for seen in activities(stack for _, stack in stacks)]
    if len(threads) < len(stacks) or not all(thread.owns_gil for thread in threads):
        return False
    leaves = [thread.frames[0] for thread in threads]
    return len({(leaf.function, leaf.file) for leaf in leaves}) == 1 and len({leaf.line for leaf in leaves}) <= LINES


def counts_out(known: Activity, sources: Sources) -> bool:
    """Whether the line at which it stands computes in loops that all end by themselves: how many rounds there are it knows."""
    frames = known.thread.frames
    found = _source(frames[0], sources) if own(frames)[:1] == (0,) else None
    return found is not None and found.counted


def trades(known: Activity | None) -> bool:
    """Whether it waits for what comes over a network, through a pipe or a queue."""
    return known is not None and known.kind in (*ASKED, *FED)


def may_trade(process: Process, known: Activity) -> bool:
    """Waits for an answer and wakes up: answers come slowly, or it asks in vain again and again.

    A process that waits for a silent server does not wake at all. Only switches of the main thread tell, not those of the
    process. From a pipe or a queue bytes must come as well: polling an empty one wakes up too.
    """
    recent = recently(process)
    return _wakes(recent) and (known.kind in ASKED or (known.kind in FED and (recent.passed_b_s or 0.0) > 0))


def by_turns(process: Process) -> bool:
    """Waits, wakes and computes a little, again and again: a game that is stepped, a server that is asked.

    Polling uses next to nothing each time. Steps of 10 ms are too coarse to tell that, so without the main thread's own time
    more is asked for.
    """
    recent = recently(process)
    percent = recent.cpu_percent or 0.0
    coarse = percent / 100 if percent >= TURNS_CPU_PERCENT else 0.0
    used = coarse if recent.main_cpu_part is None else recent.main_cpu_part
    return _wakes(recent) and used / (recent.switches_s or WAKES_S) >= TURNS_CPU_S


def only_looks(process: Process) -> bool:
    """Wakes up again and again and does next to nothing each time: it polls."""
    recent = recently(process)
    return recent.main_cpu_part is not None and _wakes(recent) and not by_turns(process)


def by_children(process: Process, known: Activity, silent_since: float) -> bool:
    """Waits for a child, below which something was started long after the run last spoke: a script that goes from command to
    command, or asks again and again."""
    youngest = process.subtree_started_at or 0.0
    return known.kind == "child" and youngest - max(silent_since, process.started_at) >= STARTED_LATE_S


def by_steps(process: Process, known: Activity, sources: Sources) -> bool:
    """Sleeps or waits for its own threads, for moments each, in a loop that ends by itself, or where no loop of its own asks: a
    library calls it again and again.

    A `while` around the wait asks whether something has come, and so may a library that waits on its own: a line without a loop
    that does not sleep itself calls compiled code that asks (SQLite for a lock).
    """
    if known.kind not in ("sleep", "join", "queue", "lock") or not _wakes(recently(process)):
        return False
    frames = known.thread.frames
    places = [place for place in own(frames) if place < started(frames)]
    inner = [frame for frame in frames[: places[0] if places else 0] if owner(frame.file) != "native"]
    if not places or not all(frame.file.endswith(WAITS_ONCE) for frame in inner):
        return False
    loops = [_around(frames[place], sources) for place in places if owner(frames[place].file) == "user"]
    if not inner and loops[:1] == ["none"] and not _sleeps_itself(frames[places[0]], sources):
        return False
    return next((loop for loop in loops if loop != "none"), "none" if loops else None) in ("ends", "none")


def recently(process: Process) -> RecentActivity:
    """What it did of late; nothing where it was not watched."""
    return process.recent or UNSEEN


def wakes(process: Process) -> bool:
    """Whether its main thread slept and woke up again and again of late."""
    return _wakes(recently(process))


def looks_after(parent: Stack, children: Sequence[Stack], sources: Sources) -> bool:
    """Whether a parent only watches its children, by its stack, or by the loop in which it sleeps."""
    return watches_children(parent, children) or goes_round(parent, sources)


def goes_round(stack: Stack, sources: Sources) -> bool:
    """Whether it sleeps in a loop that only looks whether processes live, or that nothing leaves."""
    known = activity_of(stack)
    return known is not None and known.kind == "sleep" and loop_around(known, sources) in ("rounds", "beats")


def loop_around(known: Activity, sources: Sources) -> Loop | None:
    """The loop around the innermost line of the user's own functions; `None` as long as its source is not known."""
    return loop_of(known.thread.frames, sources)


def loop_of(frames: tuple[Frame, ...], sources: Sources) -> Loop | None:
    """The same of a thread with these frames."""
    inner = next(iter(own(frames)), None)
    return None if inner is None else _around(frames[inner], sources)


def loop_outward(frames: tuple[Frame, ...], sources: Sources) -> Loop | None:
    """The first loop around the user's own lines of these frames, from the innermost out. Code without a file, as of `python -c`,
    tells of none."""
    found = [_around(frames[place], sources) or _unfiled(frames[place]) for place in own(frames)]
    return next((loop for loop in found if loop != "none"), "none" if found else None)


def _unfiled(place: Frame) -> Loop | None:
    return "none" if place.file.startswith("<") else None


def _wakes(recent: RecentActivity) -> bool:
    return recent.seconds >= SPAN_S and (recent.switches_s or 0.0) >= WAKES_S


def loop_line(place: Frame, sources: Sources) -> int | None:
    """Where the innermost loop around this line begins, as far as the source is known."""
    found = _source(place, sources)
    return None if found is None else found.loop_line


def _far_apart(stacks: Looks) -> bool:
    return len(stacks) >= LOOKS and stacks[-1][0] - stacks[0][0] >= SPAN_S


def does_more(process: Process) -> bool:
    """Whether it does more than a loop would: children at work, bytes moved, several cores used."""
    own_percent = process.cpu_percent or 0.0
    busy_children = process.subtree_size > 1 and (process.subtree_cpu_percent or 0.0) > own_percent + WORTH_A_CORE
    return busy_children or own_percent > MORE_THAN_A_CORE or (recently(process).io_b_s or 0.0) > IO_BYTES_S


def _source(place: Frame, sources: Sources) -> Excerpt | None:
    return next((excerpt for excerpt in sources if (excerpt.file, excerpt.at) == (place.file, place.line)), None)


def _around(place: Frame, sources: Sources) -> Loop | None:
    found = _source(place, sources)
    return None if found is None else found.loop


def asks_in_c(known: Activity, sources: Sources) -> bool:
    """Whether it sleeps in compiled code, called by a line of the program that does not say so: it asks for something, as SQLite
    does for a lock. As far as the source is known."""
    frames = [frame for frame in known.thread.frames if owner(frame.file) != "native"]
    places = own(tuple(frames))
    found = _source(frames[0], sources) if places[:1] == (0,) else None
    return known.kind == "sleep" and found is not None and bool(found.lines) and not _sleeps_itself(frames[0], sources)


def _sleeps_itself(place: Frame, sources: Sources) -> bool:
    """Whether the line of a frame does, as far as it is known."""
    found = _source(place, sources)
    return found is None or not found.lines or "sleep" in found.lines[found.at - found.first]


def _loops_seen(known: Activity, sources: Sources) -> tuple[Loop | None, ...]:
    """The loop around the user's innermost line; nothing as long as its source is not known: it comes a moment after the stacks.
    Only the standard library may be further in: anything else may be the work."""
    frames = known.thread.frames
    inner = next(iter(own(frames)), None)
    if inner is None:
        return (None,)
    if (found := _source(frames[inner], sources)) is None:
        return ()
    is_called = any(owner(frame.file) != "python" and frame.file != NO_FILE for frame in frames[:inner])
    return (None,) if is_called or (found.loop == "endless" and inner > 0) else (found.loop,)
