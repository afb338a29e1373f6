"""Ranks beside the writer of a log, which write nothing themselves. Where one rank keeps the log, a loop of a shell or a script
has started the others, too. Pure.

What is told by their environments counts: other numbers in the same variable, and the same world. One that holds a log of its own
may be another run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from hangtop.system.files.open_files import is_log
from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.roles import RANKS, WORLDS, number
from hangtop.system.processes.table import OpenFile, Stat
from hangtop.system.processes.tree import Children

FactsOf = Callable[[Iterable[int]], Mapping[int, ProcessFacts]]


def sibling_ranks(
    writers: Collection[int],
    stats: Mapping[int, Stat],
    children: Children,
    files: Mapping[int, tuple[OpenFile, ...]],
    facts_of: FactsOf,
) -> list[int]:
    """The pids of other ranks of the writers' worlds. `children`: without what a person's shell started."""
    logs = {pid: {file.target for file in files.get(pid, ()) if is_log(file)} for pid in writers}
    found: list[int] = []
    for writer in writers:
        parent = stats[writer].ppid if writer in stats else 0
        beside = [pid for pid in children.get(parent, ()) if parent > 1 and pid not in writers]
        if not beside or not _is_rank(facts_of([writer]).get(writer)):
            continue  # a service may have thousands of children
        facts = facts_of([writer, *beside])
        alone = [pid for pid in beside if {file.target for file in files.get(pid, ()) if is_log(file)} <= logs[writer]]
        found += [pid for pid in alone if writer in facts and pid in facts and _is_peer(facts[writer], facts[pid])]
    numbers = [number(facts_of([pid])[pid].environ, RANKS) for pid in found]
    return found if len(set(numbers)) == len(numbers) else []  # two of one number: not one run


def _is_rank(facts: ProcessFacts | None) -> bool:
    """Whether its environment gives it a number in a world."""
    return facts is not None and None not in (number(facts.environ, RANKS), number(facts.environ, WORLDS))


def _is_peer(mine: ProcessFacts, other: ProcessFacts) -> bool:
    """Whether another process has a number of its own in the world of this one, and meets where it does."""
    meetings = ((mine.environ.get(name), other.environ.get(name)) for name in ("MASTER_ADDR", "MASTER_PORT"))
    if any(here and there and here != there for here, there in meetings):
        return False
    world = number(mine.environ, WORLDS)
    ranks = {number(each.environ, RANKS) for each in (mine, other)}
    return world is not None and world == number(other.environ, WORLDS) and None not in ranks and len(ranks) == 2
