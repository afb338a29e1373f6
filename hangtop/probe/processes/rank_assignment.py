"""The role of each process of a run, and the rank that it is or belongs to: by variables of its environment, or by the log that
it alone writes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from hangtop.probe.log.rank_from_name import ranks_of
from hangtop.records.process import ProcessRole
from hangtop.system.files.open_files import is_log
from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.roles import BY_NODE, LOCAL_RANKS, NODE, RESTARTS, SHELLS, WORLDS, number, rank_variable
from hangtop.system.processes.table import Identity, OpenFile, Stat
from hangtop.system.processes.tree import ancestors


class RankPlace(Struct, frozen=True):
    role: ProcessRole = "other"
    rank: int | None = None
    local_rank: int | None = None
    world: int | None = None
    restarts_left: int | None = None


NOWHERE = RankPlace()


class RankNumbering(Struct, frozen=True):
    """How ranks are numbered: by this variable, from `base` on. `first`: pid of rank `base`, which has no variable."""

    variable: str | None = None
    base: int = 0
    first: int | None = None
    world: int | None = None


class RankAssignment:
    """Places by process. They are kept, because a zombie has no environment any more."""

    def __init__(self) -> None:
        self._placed: dict[Identity, RankPlace] = {}

    def place_of(self, identity: Identity) -> RankPlace:
        return self._placed.get(identity) or NOWHERE

    def forget_but(self, alive: Iterable[Identity]) -> None:
        self._placed = {identity: self._placed[identity] for identity in alive if identity in self._placed}

    def assign(self, members: Iterable[int], stats: Mapping[int, Stat], facts: Mapping[int, ProcessFacts]) -> None:
        """Assign these processes. A launcher with an unknown name is told by the ranks below it."""
        numbering = _numbering(stats, facts)
        for pid in members:
            if stats[pid].state not in "ZX" or stats[pid].identity not in self._placed:  # a zombie has no environment any more
                self._placed[stats[pid].identity] = self._place(stats[pid], stats, facts, numbering)
        ranks = [pid for pid in members if self._placed[stats[pid].identity].role == "rank"]
        for pid in {parent for rank in ranks for parent in ancestors(stats, rank)}:
            placed = self._placed.get(stats[pid].identity)
            if placed is not None and placed.role == "other":
                self._placed[stats[pid].identity] = replace(placed, role="launcher")

    def _place(self, stat: Stat, stats: Mapping[int, Stat], facts: Mapping[int, ProcessFacts], by: RankNumbering) -> RankPlace:
        own = facts[stat.pid]
        if stat.pid == by.first:
            return RankPlace("rank", by.base, 0, by.world)
        above = self._placed.get(stats[stat.ppid].identity) if stat.ppid in stats else None
        rank = number(own.environ, (by.variable,)) if by.variable else None
        if rank is None:  # it belongs to what its parent belongs to
            placed = NOWHERE if above is None else replace(above, role="other")
        else:
            rank += by.base
            placed = RankPlace("other", rank, number(own.environ, LOCAL_RANKS), number(own.environ, WORLDS))
            placed = replace(placed, restarts_left=_restarts_left(own))
        return replace(placed, role=self._role(stat, own, rank, above, facts.get(stat.ppid)))

    def _role(
        self, stat: Stat, own: ProcessFacts, rank: int | None, above: RankPlace | None, parent: ProcessFacts | None
    ) -> ProcessRole:
        """The topmost program with a rank's number is that rank; shells that start it, and its descendants, are not."""
        if own.role is not None and own.role != "ray worker":
            return own.role
        inherited = above is not None and above.rank == rank and above.role not in ("launcher", "ray daemon")
        if rank is not None and not inherited:
            return "launcher" if stat.name in SHELLS else "rank"
        # a fork that never became another program, or started by multiprocessing
        forked = own.forked or (parent is not None and own.command == parent.command and bool(own.command))
        if own.role is None and above is not None and above.role == "rank" and forked:
            return "data worker"
        return own.role or "other"


def _restarts_left(own: ProcessFacts) -> int | None:
    most, so_far = (number(own.environ, (name,)) for name in RESTARTS)
    return None if most is None or so_far is None else max(0, most - so_far)


def _numbering(stats: Mapping[int, Stat], facts: Mapping[int, ProcessFacts]) -> RankNumbering:
    """By a global number where there is one. With `LOCAL_RANK` alone, as Lightning sets it, the ranks of a node follow those of
    the nodes before it, and the process that started them is the first one itself."""
    variable = rank_variable([each.environ for each in facts.values()])
    if variable != BY_NODE:
        return RankNumbering(variable)
    numbers = {pid: local for pid, each in facts.items() if (local := number(each.environ, (BY_NODE,))) is not None}
    if not numbers:
        return RankNumbering()
    environ = facts[next(iter(numbers))].environ
    base = (number(environ, (NODE,)) or 0) * (max(numbers.values()) + 1)
    above = {stats[pid].ppid for pid in numbers if pid in stats} - numbers.keys()
    starters = [pid for pid in above if pid in facts and facts[pid].role is None and stats[pid].name not in SHELLS]
    first = starters[0] if len(above) == len(starters) == 1 and 0 not in numbers.values() else None
    return RankNumbering(variable, base, first, number(environ, WORLDS))


def log_ranks(members: Collection[int], files: Mapping[int, tuple[OpenFile, ...]], stats: Mapping[int, Stat]) -> dict[int, int]:
    """Ranks by pid: of a process that, with its descendants, alone holds `rank_3.log` open. A launcher that opened the logs of
    all its children holds several, so it has no rank."""
    holders: dict[str, list[int]] = {}
    for pid in members:
        for path in {file.target for file in files.get(pid, ()) if is_log(file)}:
            holders.setdefault(path, []).append(pid)
    if len(holders) < 2:
        return {}
    above = {pid: set(ancestors(stats, pid)) for pids in holders.values() for pid in pids}
    paths = sorted(holders)
    found: dict[int, set[int | None]] = {}
    for path, rank in zip(paths, ranks_of(paths), strict=True):
        for pid in holders[path]:
            alone = all(other == pid or other in above[pid] or pid in above[other] for other in holders[path])
            found.setdefault(pid, set()).add(rank if alone else None)
    return {pid: rank for pid, ranks in found.items() if len(ranks) == 1 and (rank := next(iter(ranks))) is not None}
