"""What the targets of a plan start while they are being ended: looked for in every poll, and told by proof from what others start
in the same moment.

Proof of descent is what the kernel keeps of a fork: the parent, read while it still lives; the session and the process group,
which outlive the parent, where nobody but the run was in them; the layout of its memory, which a fork keeps; a pipe or socket
that nobody but the run held. What only writes the run's log, or lost its parent and has a rank's environment, the run's group or
its control group, may be another's: it is named, and never ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from hangtop.actions.execute.inheritance import Inheritance
from hangtop.records.plan import Plan
from hangtop.system.processes.table import Identity, ProcessTable, Stat
from hangtop.system.processes.tree import children_of, descendants


class Newborns:
    """The processes that are born while a plan is carried out. Made before the first signal, from a table that is fresh."""

    def __init__(self, plan: Plan, table: ProcessTable) -> None:
        stats = table.stats
        targets = {Identity(target.pid, target.start_ticks) for target in plan.targets}
        self._table = table
        self._born: dict[Identity, str] = {}
        self._kin = {
            identity for identity in targets if (stat := stats.get(identity.pid)) is not None and stat.identity == identity
        }
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
        """One poll. `into_files`: ask newcomers also what they hold; that may wait a moment for them."""
        self._table.refresh([identity.pid for identity in (*self._kin, *self._strangers) if identity.pid in self._table.stats])
        stats = self._table.stats
        self._note_adopters(stats)
        self._sessions.follow(stats, self._kin)
        self._groups.follow(stats, self._kin)
        self._strangers = {
            identity: stats[identity.pid]
            for identity in self._strangers
            if identity.pid in stats and stats[identity.pid].identity == identity
        }
        newcomers = [stat for stat in stats.values() if stat.identity not in self._seen and not stat.kernel]
        for stat in sorted(newcomers, key=lambda stat: (stat.start_ticks, stat.pid)):
            self._seen.add(stat.identity)
            self._meet(stat)
        if into_files:
            self._heirlooms.ask(self._strangers.values())
        while found := self._proven():
            for stat, why in found:
                del self._strangers[stat.identity]
                self._take(stat, why)

    def living(self) -> list[tuple[Stat, str]]:
        """What the run has started meanwhile and lives, with the proof, the youngest first: children before parents."""
        known = ((self._table.stats.get(identity.pid), identity, why) for identity, why in self._born.items())
        alive = [
            (stat, why)
            for stat, identity, why in known
            if stat is not None and stat.identity == identity and stat.state not in "ZX"
        ]
        return sorted(alive, key=lambda found: (found[0].start_ticks, found[0].pid), reverse=True)

    def doubtful(self) -> Iterator[tuple[Stat, str]]:
        """Newcomers that may be the run's and that nothing proves to be so, with what speaks for it."""
        for stat in self._strangers.values():
            if stat.state in "ZX" or self._heirlooms.is_foreign_fork(stat):
                continue
            if self._heirlooms.writes_log(stat):
                yield stat, "it writes the run's log"
            elif stat.ppid in self._adopters and (self._sessions.holds(stat) or self._groups.holds(stat)):
                yield stat, "it lost its parent, and is in the run's process group or session, which others are in too"
            elif stat.ppid in self._adopters and self._heirlooms.has_environ(stat):
                yield stat, "it lost its parent, and has the environment of a rank of the run"
            elif stat.ppid in self._adopters and self._heirlooms.in_cgroup(stat):
                yield stat, "it lost its parent, and is in the run's control group, where nobody else was"

    def is_foreign(self, stat: Stat) -> bool:
        """Whether a newcomer is proven to be a fork of a process that is not of the run."""
        return self._heirlooms.is_foreign_fork(stat)

    def _take(self, stat: Stat, why: str) -> None:
        self._born[stat.identity] = why
        self._kin.add(stat.identity)

    def _meet(self, stat: Stat) -> None:
        """Ask at once whose child a newcomer is: the parent may end in the next moment."""
        if self._has_parent_of_kin(stat):
            self._take(stat, f"pid {stat.ppid} started it")
        else:
            self._strangers[stat.identity] = stat

    def _has_parent_of_kin(self, stat: Stat) -> bool:
        """The parent is read once more, after the child: when it is still the same, no other had its pid in between."""
        parent = self._table.stats.get(stat.ppid)
        if parent is None or parent.identity not in self._kin or parent.start_ticks > stat.start_ticks:
            return False
        self._table.refresh((parent.pid,))
        again = self._table.stats.get(parent.pid)
        return again is not None and again.identity == parent.identity

    def _proven(self) -> list[tuple[Stat, str]]:
        return [(stat, why) for stat in self._strangers.values() if (why := self._proof(stat)) is not None]

    def _proof(self, stat: Stat) -> str | None:
        if self._has_parent_of_kin(stat):
            return f"pid {stat.ppid} started it"
        if self._sessions.proves(stat):
            return f"it is in session {stat.session}, which is the run's alone"
        if self._groups.proves(stat):
            return f"it is in process group {stat.group}, which is the run's alone"
        if self._heirlooms.is_fork(stat):
            return "it is a fork of a process of the run"
        if self._heirlooms.shares(stat):
            return "it holds a pipe or socket that only the run held"
        return None

    def _note_adopters(self, stats: Mapping[int, Stat]) -> None:
        """Note which processes take in what loses its parent: pid 1, or one that has asked for it (PR_SET_CHILD_SUBREAPER)."""
        for identity in self._kin:
            stat = stats.get(identity.pid)
            if stat is not None and stat.identity == identity and self._parents.setdefault(identity, stat.ppid) != stat.ppid:
                self._adopters.add(stat.ppid)


class _Shared:
    """The sessions, or the process groups, of the run: those that are its alone, and those that others are in too.

    A number stays given for as long as anybody is in it, and is another's once a newcomer leads it. 0 and 1 are not the run's:
    0 stands for all that was started outside of a container.
    """

    def __init__(self, stats: Mapping[int, Stat], kin: Collection[Identity], number: Callable[[Stat], int]) -> None:
        self._number = number
        self._before = {number(stat) for stat in stats.values()}
        of_run = {number(stats[identity.pid]) for identity in kin} - {0, 1}
        others = {number(stat) for stat in stats.values() if stat.identity not in kin and stat.state not in "ZX"}
        self._alone, self._mixed = of_run - others, of_run & others

    def follow(self, stats: Mapping[int, Stat], kin: Collection[Identity]) -> None:
        """To be asked in each look, before newcomers are judged."""
        number = self._number
        present = {number(stat) for stat in stats.values()}
        led_anew = {each for each in self._alone if (leader := stats.get(each)) is not None and leader.identity not in kin}
        self._alone = (self._alone & present) - led_anew
        led = (stat for identity in kin if (stat := stats.get(identity.pid)) is not None and stat.identity == identity)
        made = {number(stat) for stat in led if number(stat) == stat.pid}
        self._alone |= made - self._before

    def proves(self, stat: Stat) -> bool:
        return self._number(stat) in self._alone

    def holds(self, stat: Stat) -> bool:
        return self._number(stat) in self._mixed


def _started_since(plan: Plan, stats: Mapping[int, Stat], kin: Collection[Identity]) -> list[Stat]:
    """What the targets have started since the plan was made, and what that has started; what is older was spared on purpose."""
    children = children_of(stats)
    newest = plan.newest_ticks or max((target.start_ticks for target in plan.targets), default=0)
    known = {identity.pid for identity in kin}
    young = {pid: [child for child in below if stats[child].start_ticks > newest] for pid, below in children.items()}
    found = {pid for identity in kin for pid in descendants(young, identity.pid)} - known
    return [stats[pid] for pid in sorted(found) if stats[pid].state not in "ZX"]
