"""The source "procs": the writers of the watched logs, the run's processes, and the machine they run on."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import partial

from hangtop.common.clean_words import clean_words
from hangtop.probe.context import ProbeContext
from hangtop.probe.leftovers.orphans import adopted, is_daemon, is_orphan, lost_daemons, unreaped
from hangtop.probe.processes.leads import Lead, LogIdentity, lead_words, of_the_log, proven, surest, taken_words, told_by
from hangtop.probe.processes.log_writers import LogWriters
from hangtop.probe.processes.named_nodes import named_nodes
from hangtop.probe.processes.present_attempt import PresentAttempt, present
from hangtop.probe.processes.probable_writers import ProbableWriters
from hangtop.probe.processes.ray_ties import RayTieTable
from hangtop.probe.processes.rendezvous_sockets import rendezvous_of
from hangtop.probe.processes.run_members import RunTree
from hangtop.probe.processes.shell_loops import ShellLoops
from hangtop.probe.processes.shell_scripts import ShellScripts
from hangtop.probe.processes.told_end import ToldEnd
from hangtop.probe.source import Source
from hangtop.probe.storage.mounts import BlockedMounts, waits_for_a_mount
from hangtop.records.nodes import NamedNodes
from hangtop.records.process import Process, ProcessReading, ProcessRole, RayTie, Rendezvous, Writer, unchanged
from hangtop.records.reading import Value
from hangtop.system.files.file_writers import OpenFileTable
from hangtop.system.files.open_files import YOUNG_S, OpenFiles
from hangtop.system.guard import Guard
from hangtop.system.machine import MachineReader
from hangtop.system.network.connections import TcpConnection, is_on_our_network, read_connections, socket_inodes
from hangtop.system.processes.exits import Exits
from hangtop.system.processes.login_shells import LoginShells
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.out_of_sight import in_container
from hangtop.system.processes.proc_files import namespace
from hangtop.system.processes.roles import RAY_DAEMON_NAMES
from hangtop.system.processes.table import OpenFile, ProcessTable
from hangtop.system.processes.tree import ancestors, children_of, descendants

SELDOM = 5
"""Every so many reads: what changes slowly or costs more, such as sockets, orphans and the machine."""
EAGER_LOOKS = 60
"""So many reads search for a writer each time; a log without one is then most likely an old one."""
FEW_NAMED = 64
"""Of so many ranks and launchers it is looked whether they name other nodes."""
MAX_LEFTOVERS = 256
MANY: frozenset[ProcessRole] = frozenset(("data worker", "compiler"))
"""There may be hundreds of these, and they hold the same sockets as their rank."""

Files = Mapping[int, tuple[OpenFile, ...]]


class ProcessSource(Source):
    """Reads the process table once a second. Nothing here waits for a process that is stuck."""

    interval_s = 1.0
    deadline_s = 3.0

    def __init__(self, context: ProbeContext, table: ProcessTable | None = None) -> None:
        self._context = context
        self._table = table or open_table(at_leisure=True)
        self._files = OpenFiles(self._table)
        self._exits = Exits()
        self._writing = LogWriters(context, self._table, self._exits)
        self._told_end = ToldEnd(context.spec.logs)
        self._likely = ProbableWriters(self._table)
        self._leads: dict[int, Lead] = {}
        self._taken: dict[int, str] = {}
        self._weighed = False
        self._shells = LoginShells(self._table)
        self._loops = ShellLoops(self._table)
        self._scripts = ShellScripts(self._table)
        self._run = RunTree(context.spec, self._table, self._exits, self._shells)
        self._ray_ties = RayTieTable()
        self._ray: tuple[RayTie, ...] = ()
        self._host = MachineReader()
        self._blockages = BlockedMounts()
        self._nets: Guard[str | None, list[TcpConnection]] = Guard()
        self._sockets: Guard[int, tuple[OpenFile, ...]] = Guard()
        self._rendezvous: Rendezvous | None = None
        self._named_guard: Guard[str, NamedNodes | None] = Guard()
        self._named: NamedNodes | None = None
        self._orphans: tuple[Process, ...] = ()
        self._pointing: tuple[int, ...] = ()
        self._held: Files = {}
        self._hidden = 0
        self._contained = in_container()
        self._told: ProcessReading | None = None
        self._disks_seen: list[str] = []
        self._looks = 0
        self._attempt: PresentAttempt | None = None

    def read(self, now: float) -> Iterable[Value]:
        """The processes at `now` (unix time) when they changed, and every few reads in any case, with the machine."""
        seldom = self._looks % SELDOM == 0 or self._writing.is_outdated  # a new writer is seen at once
        self._looks += 1
        looked = False
        writing = self._writing.alive()
        self._table.refresh(writing | self._run.due())
        self._writing.check(now)
        if seldom or writing != self._writing.alive() or (not writing and self._looks < EAGER_LOOKS):
            looked = True
            self._find_writers(writing, now)
        files = self._held
        watched = self._writing.watched
        logs = {path: (size, watched.written_at.get(path, now)) for path, size in watched.sizes.items()}
        processes = self._run.update(self._writing.alive() or self._taken, files, now, self._context.ray_workers)
        if looked:
            self._ray = self._tied(processes, files)
        if self._writing.alive():
            drivers = {tie.pid for tie in self._ray if tie.kind == "drives" and not tie.gone}
            self._attempt = present(
                self._attempt, processes, self._table.stats, logs, self._run.written_bytes, self._run.computed, drivers
            )
        if seldom:
            self._rendezvous = self._read_rendezvous(processes)
            self._named = self._find_named(processes)
            self._orphans = self._find_orphans(files, now)
            self._pointing = () if self._writing.writers else self._find_pointing()
        self._context.procs = reading = ProcessReading(
            writers=self._writers(),
            hidden=self._hidden,
            note=self._note(),
            processes=processes,
            orphans=self._orphans,
            zombies=self._find_zombies(files, now),
            ended=self._run.ended,
            rendezvous=self._rendezvous,
            named=self._named,
            missing_right=next((process.missing_right for process in processes if process.missing_right), None),
            blocked_on=self._blockages.find(filter(waits_for_a_mount, processes), now),
            taken=() if self._writing.alive() else tuple(self._taken),
            shell=self._writing.shell,
            jobs=self._writing.jobs,
            leads=() if self._writing.alive() else tuple(self._leads),
            weighed=self._weighed,
            pointing=self._pointing,
            ray=self._ray,
            of_ray=tuple(sorted(self._run.of_ray)),
            began_at=None if self._attempt is None else self._attempt.at,
            older={} if self._attempt is None else dict(self._attempt.older),
            sought=self._writing.sought,
            contained=self._contained,
            loops=self._loops.find(self._writing.alive(), tuple(watched.sizes), watched.owners),
            scripts=self._scripts.find(self._writing.alive(), tuple(watched.sizes), watched.owners, now),
        )
        if seldom or self._told is None or not unchanged(self._told, reading):
            self._told = reading
            yield reading
        if (disks := self._disks()) != self._disks_seen or seldom:
            self._disks_seen = disks
            yield self._host.read(processes[0].pid if processes else None, disks, now)

    def _writers(self) -> tuple[Writer, ...]:
        """Those that were seen; and of a run that hangtop started, how it has ended."""
        log = self._context.log
        return self._told_end.beside(self._writing.writers, None if log is None else log.last_output_at)

    def _find_writers(self, writing: Collection[int], now: float) -> None:
        """Who holds the logs open now; where nobody does, who may write them."""
        self._files.refresh(now, writing)
        self._held = self._files.by_pid()
        others = self._writing.followed_another
        self._writing.find(OpenFileTable(self._table.stats, self._held, self._shells.find(now)), now)
        if others != self._writing.followed_another:
            self._run.forget()
        self._writing.check(now)
        if not self._writing.alive():
            self._told_end.look()
        # of the logs' owner: one of them may write the logs unseen
        denied = [pid for pid in self._files.denied() if pid != 1 and self._table.owner(pid) in self._writing.watched.owners]
        self._hidden = len(denied)
        self._follow_leads(now)

    def _tied(self, processes: tuple[Process, ...], files: Files) -> tuple[RayTie, ...]:
        """Ties of the proven processes: one that is only taken for the writer ties the run to nothing."""
        proven = () if self._taken else [process for process in processes if process.pid not in self._run.of_ray]
        facts = self._run.book.known(process.pid for process in proven)
        return self._ray_ties.update(proven, files, facts, self._writing.watched.written_at, is_on_our_network)

    def _follow_leads(self, now: float) -> None:
        """Where no writer is known: which processes may write the log, and which of them are proven to be the run."""
        known = self._writing.writers or self._context.spec.pids
        leads = {} if known else self._likely.find(self._writing.watched.written_at, self._writing.watched.owners)
        stats, children = self._table.stats, children_of(self._table.stats)
        trees = {pid: self._run.others(descendants(children, pid)[:MAX_LEFTOVERS], self._held, now) for pid in leads}
        log = self._context.log
        self._weighed = bool(leads) and log is not None and log.caught_up
        taken = proven(leads, trees, self._told_by_log)
        living = {pid for pid in self._taken if pid in stats and stats[pid].state not in "ZX"}
        if living - taken.keys() - self._writing.alive():
            self._run.forget()  # their descendants were followed as the run's
        self._taken, self._leads = taken, {} if taken else surest(leads)

    @property
    def _told_by_log(self) -> LogIdentity:
        return told_by(self._context.log, self._context.ranks, os.uname().nodename)

    def _note(self) -> str | None:
        """What to say of processes that are taken for the writer, or may be it; else why there is none."""
        if not self._writing.alive() and (self._taken or self._leads):
            return taken_words(self._taken) if self._taken else lead_words(self._leads)
        return self._writing.note(self._hidden)

    def _find_pointing(self) -> tuple[int, ...]:
        """The orphans to which the log leads, with their descendants. A working folder alone is not enough."""
        leads = self._likely.pointing([orphan.pid for orphan in self._orphans], self._writing.watched.written_at)
        found: dict[int, None] = {}
        for orphan in self._orphans:  # parents come before their children
            lead = leads.get(orphan.pid)
            if orphan.ppid in found or (lead is not None and (lead.kind != "here" or of_the_log(orphan, self._told_by_log))):
                found[orphan.pid] = None
        return tuple(found)

    def _find_named(self, processes: tuple[Process, ...]) -> NamedNodes | None:
        """Other nodes that the run names; a file of hosts may be on a dead mount."""
        if self._context.spec.hosts:
            return None
        few = [process.pid for process in processes if process.role in ("rank", "launcher")][:FEW_NAMED]
        facts, met = tuple(self._run.book.known(few).values()), self._rendezvous
        return self._named_guard.known({"named": partial(named_nodes, facts, met)}).get("named", self._named)

    def _read_rendezvous(self, processes: tuple[Process, ...]) -> Rendezvous | None:
        """The run's sockets to MASTER_PORT, where the ranks' environment names one."""
        living = [process for process in processes if process.state not in "ZX" and process.role not in MANY]
        ranks = {process.pid: process.rank for process in living if process.role == "rank" and process.rank is not None}
        environs = {pid: facts.environ for pid, facts in self._run.book.known(ranks).items()}
        first = next((pid for pid, environ in environs.items() if environ.get("MASTER_PORT", "").isdecimal()), None)
        if first is None:
            return None
        networks: dict[str | None, int] = {}  # ranks in containers have socket tables of their own
        for pid in ranks:
            networks.setdefault(namespace(pid, "net"), pid)
        told = self._nets.known({net: partial(read_connections, pid) for net, pid in networks.items()})
        if len(told) < len(networks):
            return None
        connections = [connection for network in told.values() for connection in network]
        held = self._sockets.ask({process.pid: partial(self._table.open_files, process.pid) for process in living})
        sockets = {process.pid: socket_inodes(held.get(process.pid)) for process in living}
        environ, world = environs[first], next((process.world for process in living if process.pid == first), None)
        return rendezvous_of(
            clean_words(environ.get("MASTER_ADDR", "?")),
            int(environ["MASTER_PORT"]),
            world,
            connections,
            {rank: sockets[pid] for pid, rank in ranks.items()},
            [inodes for pid, inodes in sockets.items() if pid not in ranks],
        )

    def _find_orphans(self, files: Files, now: float) -> tuple[Process, ...]:
        """Orphans of the log's owner, or our own, each followed by its descendants."""
        stats = self._table.stats
        around = self._run.members | {pid for member in (*self._run.members, os.getpid()) for pid in ancestors(stats, member)}
        lost = adopted(stats, around)
        facts = self._run.book.of(lost, now)
        daemons = {pid: facts[pid].command for pid in lost if is_daemon(facts[pid].command)}
        leading = self._run.book.of((pid for pid, stat in stats.items() if stat.name in RAY_DAEMON_NAMES), now) if daemons else {}
        alone = lost_daemons(daemons, files, [known.command for known in leading.values()])
        orphans = [
            pid
            for pid in lost
            if self._is_ours(pid) and (pid in alone if pid in daemons else is_orphan(stats[pid], facts[pid], files.get(pid, ())))
        ]
        children = children_of(stats)
        family = [pid for orphan in orphans for pid in descendants(children, orphan)]
        return self._run.others(family[:MAX_LEFTOVERS], files, now)

    def _find_zombies(self, files: Files, now: float) -> tuple[Process, ...]:
        """Zombies: of the run at once, elsewhere once they are some seconds old, since young ones are about to be reaped."""
        stats, members = self._table.stats, self._run.members
        since = now - YOUNG_S
        zombies = [
            pid
            for pid in unreaped(stats, members)
            if pid in members or (self._table.started_at(stats[pid].start_ticks) <= since and self._is_ours(pid))
        ]
        zombies.sort(key=lambda pid: pid not in members and stats[pid].ppid not in members)  # the run's are never left out
        return self._run.others(zombies[:MAX_LEFTOVERS], files, now)

    def _is_ours(self, pid: int) -> bool:
        return self._table.owner(pid) in (self._writing.watched.owners or {os.geteuid()})

    def _disks(self) -> list[str]:
        """Paths on the file systems that the run may fill."""
        logs = [os.path.dirname(path) for writer in self._writing.writers for path in writer.paths]
        own = [path for path in (self._context.checkpoint_dir or self._context.spec.checkpoint_dir, *logs[:1]) if path]
        return [*own, *(["/dev/shm"] if sys.platform == "linux" else [])]
