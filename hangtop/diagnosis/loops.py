"""Does a busy rank work, or loop for ever? Stacks often cannot tell: then it works, until it has been silent for long."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.diagnosis.doing import Doing, doing
from hangtop.diagnosis.frames import NO_FILE, own, owner
from hangtop.records.process import Process
from hangtop.records.stack import Excerpt, Loop, Stack

LOOKS = 2
LINES = 2
SPAN_S = 1.5
"""One function, at most two lines of it, over looks this far apart: a loop, or work that cannot be told from one."""
WORTH_A_CORE = 20.0
MORE_THAN_A_CORE = 130.0
WAKES_S = 0.4
"""Times a second; two in a look of five seconds."""
IO_BYTES_S = 1_000_000.0
TURNS_CPU_PERCENT = 2.5
TURNS_CPU_S = 0.001
"""Processor time of one turn: who looks whether something has come needs 0.02 to 0.1 ms, a step of a simulator some ms."""

Looks = Sequence[tuple[float, Stack]]
Sources = Sequence[Excerpt]


def surely_loops(process: Process, known: Doing, stacks: Looks, sources: Sources) -> bool:
    """Its source shows that the loop it stands in does nothing but wait, or cannot be left (see `sources/loops.py`)."""
    if known.waits_for_peers or not _far_apart(stacks):
        return False
    if (process.cpu_percent or 0.0) < WORTH_A_CORE and not known.thread.runs:
        return False
    looks = [seen for _, stack in stacks if (seen := doing(stack))]
    loops = {_loop(seen, sources) for seen in looks if _is_read(seen, sources)}
    return loops in ({"waits"}, {"endless"}) and len({seen.function for seen in looks}) == 1 and not _does_more(process)


def may_loop(process: Process, known: Doing, stacks: Looks) -> bool:
    """Burns one core in a few lines of one Python function that no name explains; C code on one line does so too.

    More than a core, bytes moved, or a named phase (save, load, evaluate, compile …) is work. So is what only one look saw, and C
    code that gave the GIL away: a loop in Python held it in 6 of 6 looks, zlib and hashlib in 0 of 6.
    """
    if known.phase is not None or known.kind != "user" or not _far_apart(stacks) or _does_more(process):
        return False
    if not all((seen := doing(stack)) and seen.thread.owns_gil for _, stack in stacks):
        return False
    leaves = {seen.thread.frames[0] for _, stack in stacks if (seen := doing(stack))}
    return (
        bool(leaves)
        and len({(leaf.function, leaf.file) for leaf in leaves}) == 1
        and len({leaf.line for leaf in leaves}) <= LINES
    )


def trades(known: Doing | None) -> bool:
    """Whether it waits for what comes over a network."""
    return known is not None and known.kind in ("network", "remote")


def may_trade(process: Process, known: Doing) -> bool:
    """Waits for the network, and wakes up: answers come slowly, or it asks in vain again and again.

    Who waits for a silent server does not wake at all; switches of the main thread alone tell (those of the process do not).
    """
    recent = process.recent
    if not trades(known) or recent is None or recent.seconds < SPAN_S:
        return False
    return (recent.switches_s or 0.0) >= WAKES_S


def by_turns(process: Process) -> bool:
    """Waits, wakes and computes a little, again and again: a game that is stepped, a server that is asked.

    Who only asks whether something has come uses next to nothing each time.
    """
    recent = process.recent
    if recent is None or recent.seconds < SPAN_S or (recent.switches_s or 0.0) < WAKES_S:
        return False
    percent = recent.cpu_percent or 0.0
    return percent >= TURNS_CPU_PERCENT and percent / 100 / (recent.switches_s or WAKES_S) >= TURNS_CPU_S


def _far_apart(stacks: Looks) -> bool:
    return len(stacks) >= LOOKS and stacks[-1][0] - stacks[0][0] >= SPAN_S


def _does_more(process: Process) -> bool:
    """Children at work, bytes moved, several cores used."""
    recent = process.recent
    own_percent = process.cpu_percent or 0.0
    busy_children = process.subtree_size > 1 and (process.subtree_cpu_percent or 0.0) > own_percent + WORTH_A_CORE
    return busy_children or own_percent > MORE_THAN_A_CORE or (recent is not None and (recent.io_b_s or 0.0) > IO_BYTES_S)


def _is_read(known: Doing, sources: Sources) -> bool:
    """Whether the source around the user's innermost line is known: it comes a moment after the stacks."""
    inner = next(iter(own(known.thread.frames)), None)
    place = None if inner is None else known.thread.frames[inner]
    return place is None or any((one.file, one.at) == (place.file, place.line) for one in sources)


def _loop(known: Doing, sources: Sources) -> Loop | None:
    """The loop around the user's innermost line. Only the standard library may be further in: anything else may be the work."""
    frames = known.thread.frames
    inner = next(iter(own(frames)), None)
    if inner is None or any(owner(frame.file) != "python" and frame.file != NO_FILE for frame in frames[:inner]):
        return None
    place = frames[inner]
    loop = next((one.loop for one in sources if (one.file, one.at) == (place.file, place.line)), None)
    return None if loop == "endless" and inner > 0 else loop
