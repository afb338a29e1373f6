"""Two sides that are compared: one rank, and another one or all the others. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from hangtop.records.rank import Rank
from hangtop.records.stack import Stack
from hangtop.render.stack_rows import stacks_of
from hangtop.render.view import View
from hangtop.stacks.stack_classes import classes, stands_out
from hangtop.translations import say


class Side(Struct, frozen=True):
    """`ranks`: what stands on this side; several are told by their median, or by what most of them say. `stack`: of the one,
    or of one of the largest class of stacks among several, which are `alike` so many; `speaker`: the rank whose stack and log
    stand for the side."""

    ranks: tuple[Rank, ...]
    stack: Stack | None
    speaker: Rank
    alike: int = 1

    @property
    def name(self) -> str:
        if len(self.ranks) == 1:
            return f"rank {self.speaker.rank}"
        return say(f"median of {len(self.ranks)} peers")

    @property
    def who(self) -> str:
        """Whose stack and log it is."""
        said = f"rank {self.speaker.rank}"
        return said if len(self.ranks) == 1 or self.alike < 2 else say(f"{said}, as {self.alike} of {len(self.ranks)} peers")


class Pair(Struct, frozen=True):
    left: Side
    right: Side


def pair_of(view: View, rank: int, other: int | None) -> Pair | None:
    """The rank, and `other` or all of its peers; `None` if one of them is not known, or there is no peer."""
    titles = {stage.id: stage.title for stage in view.state.log.plan} if view.state.log else {}
    ranks = {known.rank: replace(known, stage=titles.get(known.stage or "", known.stage)) for known in view.ranks}
    mine = ranks.pop(rank, None)
    theirs = tuple(ranks.values()) if other is None else tuple(known for known in ranks.values() if known.rank == other)
    return None if mine is None or not theirs else Pair(_side(view, (mine,)), _side(view, theirs))


def most_apart(view: View) -> int | None:
    """The rank to look at first: the first that the verdict sets apart, else one whose stack waits for nobody while others wait
    for it, else the first."""
    if view.verdict is not None and view.verdict.apart:
        return view.verdict.apart[0]
    found = classes(replace(stack, rank=rank.rank) for rank in view.ranks for stack in _newest(view, rank))
    odd = next((each for each in found if stands_out(each, found)), None)
    return min((rank.rank for rank in view.ranks), default=None) if odd is None else odd.ranks[0]


def _side(view: View, ranks: Sequence[Rank]) -> Side:
    """Those of the largest class of stacks speak for the side, and for them the rank with the lowest number."""
    found = [replace(stack, rank=rank.rank) for rank in ranks for stack in _newest(view, rank)]
    largest = max(classes(found), key=lambda each: len(each.members), default=None)
    if largest is None:
        return Side(tuple(ranks), None, ranks[0])
    first = min(largest.members, key=lambda stack: stack.rank or 0)
    return Side(tuple(ranks), first, next(rank for rank in ranks if rank.rank == first.rank), len(largest.members))


def _newest(view: View, rank: Rank) -> list[Stack]:
    known = [] if rank.process is None else [stack for stack in stacks_of(rank.process, view.state.looks) if stack.threads]
    return known[-1:]
