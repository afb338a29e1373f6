"""Processes that the targets of a plan start while they are being ended: found in every poll, ended only with proof of descent.

Proof is what the kernel keeps of a fork: the parent, read while it still lives; a session or process group that only the run was
in; the memory layout, which a fork keeps; a pipe or socket that only the run held. A process that merely writes the run's log, or
lost its parent and shares a rank's environment, process group or control group, may belong to another run: it is reported, and
never ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from hangtop.actions.execute.inheritance import Inheritance
from hangtop.actions.execute.signals import line_of, living
from hangtop.records.plan import Plan
from hangtop.system.processes.table import Identity, ProcessTable, Stat
from hangtop.system.processes.tree import children_of, descendants


class Newborns:
    """Processes born while a plan is carried out. Made before the first signal, from a fresh table."""

    def __init__(self, plan: Plan, table: ProcessTable) -> None:
        stats = table.stats
        targets = {Identity(target.pid, target.start_ticks) for target in plan.targets}
        self._table = table
        self._born: dict[Identity, str] = {}
        self._kin = {identity for identity in targets if line_of(identity, stats) is not None}
        for stat in _started_since(plan, stats, self._kin):
            self._take(stat, f"pid {stat.ppid} started it after the plan was made")
        self._seen = {stat.identity for stat in stats.values()}
        self._strangers: dict[Identity, Stat] = {}
        self._parents = {identity: stats[identity.pid].ppid for identity in self._kin}
        self._adopters = {1}
        self._sessions = _Shared(stats, self._kin, lambda stat: stat.session)
        self._groups = _Shared(stats, self._kin, lambda stat: stat.group)
        self._heirlooms = Inheritance(plan, table, self._kin)

    def look(self, *, into_files: bool = False) -> None:
        """One poll. `into_files`: also read what newcomers have open, which may take a moment."""
        self._table.refresh([identity.pid for identity in (*self._kin, *self._strangers) if identity.pid in self._table.stats])
        stats = self._table.stats
        self._note_adopters(stats)
        self._sessions.follow(stats, self._kin)
        self._groups.follow(stats, self._kin)
        lines = [line_of(identity, stats) for identity in self._strangers]
        self._strangers = {stat.identity: stat for stat in lines if stat is not None}
        newcomers = [stat for stat in stats.values() if stat.identity not in self._seen and not stat.kernel]
        for stat in sorted(newcomers, key=lambda stat: (stat.start_ticks, stat.pid)):
            self._seen.add(stat.identity)
            if self._has_parent_of_kin(stat):  # asked at once: the parent may end in the next moment
                self._take(stat, f"pid {stat.ppid} started it")
            else:
                self._strangers[stat.identity] = stat
        if into_files:
            self._heirlooms.ask(self._strangers.values())
        while found := [(stat, why) for stat in self._strangers.values() if (why := self._proof(stat)) is not None]:
            for stat, why in found:
                del self._strangers[stat.identity]
                self._take(stat, why)

    def living(self) -> list[tuple[Stat, str]]:
        """Living processes that the run has started meanwhile, with the proof; the youngest first, so children before parents."""
        born = self._born.items()
        alive = [(stat, why) for identity, why in born if (stat := living(identity, self._table)) is not None]
        return sorted(alive, key=lambda found: (found[0].start_ticks, found[0].pid), reverse=True)

    def doubtful(self) -> Iterator[tuple[Stat, str]]:
        """Newcomers that may be the run's, without proof, with what suggests it."""
        for stat in self._strangers.values():
            if stat.state in "ZX" or self._heirlooms.is_foreign_fork(stat):
                continue
            if self._heirlooms.writes_log(stat):
                yield stat, "it writes the run's log"
            elif stat.ppid in self._adopters and (self._sessions.holds(stat) or self._groups.holds(stat)):
                yield stat, "it lost its parent, and is in the run's process group or session, which others are in too"
            elif stat.ppid in self._adopters and (hint := self._heirlooms.hint(stat)) is not None:
                yield stat, f"it lost its parent, and {hint}"

    def is_foreign(self, stat: Stat) -> bool:
        """Whether a newcomer is proven to be a fork of a process outside the run."""
        return self._heirlooms.is_foreign_fork(stat)

    def _take(self, stat: Stat, why: str) -> None:
        self._born[stat.identity] = why
        self._kin.add(stat.identity)

    def _has_parent_of_kin(self, stat: Stat) -> bool:
        """Whether its parent is of the run. The parent is read again after the child, so its pid was not reused."""
        parent = self._table.stats.get(stat.ppid)
        if parent is None or parent.identity not in self._kin or parent.start_ticks > stat.start_ticks:
            return False
        self._table.refresh((parent.pid,))
        again = self._table.stats.get(parent.pid)
        return again is not None and again.identity == parent.identity

    def _proof(self, stat: Stat) -> str | None:
        if self._has_parent_of_kin(stat):
            return f"pid {stat.ppid} started it"
        if self._sessions.proves(stat):
            return f"it is in session {stat.session}, which is the run's alone"
        if self._groups.proves(stat):
            return f"it is in process group {stat.group}, which is the run's alone"
        return self._heirlooms.proof(stat)

    def _note_adopters(self, stats: Mapping[int, Stat]) -> None:
        """Note which processes adopt orphans: pid 1, or a subreaper (PR_SET_CHILD_SUBREAPER)."""
        for identity in self._kin:
            stat = line_of(identity, stats)
            if stat is not None and self._parents.setdefault(identity, stat.ppid) != stat.ppid:
                self._adopters.add(stat.ppid)


class _Shared:
    """The sessions, or the process groups, of the run: those of the run alone, and those shared with others.

    A number stays in use as long as any process is in it, and is lost to the run once a newcomer leads it. 0 and 1 never count:
    0 stands for everything started outside the container.
    """

    def __init__(self, stats: Mapping[int, Stat], kin: Collection[Identity], number: Callable[[Stat], int]) -> None:
        self._number = number
        self._before = {number(stat) for stat in stats.values()}
        of_run = {number(stats[identity.pid]) for identity in kin} - {0, 1}
        others = {number(stat) for stat in stats.values() if stat.identity not in kin and stat.state not in "ZX"}
        self._alone, self._mixed = of_run - others, of_run & others

    def follow(self, stats: Mapping[int, Stat], kin: Collection[Identity]) -> None:
        """Update with a new poll, before newcomers are judged."""
        number = self._number
        present = {number(stat) for stat in stats.values()}
        led_anew = {each for each in self._alone if (leader := stats.get(each)) is not None and leader.identity not in kin}
        self._alone = (self._alone & present) - led_anew
        led = (stat for identity in kin if (stat := line_of(identity, stats)) is not None)
        made = {number(stat) for stat in led if number(stat) == stat.pid}
        self._alone |= made - self._before

    def proves(self, stat: Stat) -> bool:
        return self._number(stat) in self._alone

    def holds(self, stat: Stat) -> bool:
        return self._number(stat) in self._mixed


def _started_since(plan: Plan, stats: Mapping[int, Stat], kin: Collection[Identity]) -> list[Stat]:
    """Descendants of the targets that are younger than the plan; older ones were spared on purpose."""
    children = children_of(stats)
    newest = plan.newest_ticks or max((target.start_ticks for target in plan.targets), default=0)
    known = {identity.pid for identity in kin}
    young = {pid: [child for child in below if stats[child].start_ticks > newest] for pid, below in children.items()}
    found = {pid for identity in kin for pid in descendants(young, identity.pid)} - known
    return [stats[pid] for pid in sorted(found) if stats[pid].state not in "ZX"]
