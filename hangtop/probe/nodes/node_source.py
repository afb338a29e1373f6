"""The processes of the run on one other node: those that have a rank's number there, with what is above and below them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from hangtop.common import clock
from hangtop.common.addresses import is_loopback
from hangtop.common.grouped import grouped
from hangtop.common.raw_text import from_os
from hangtop.common.text import clock as clock_of
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.stdin_pipe import STDIN
from hangtop.probe.nodes.launchers import SSH, command
from hangtop.probe.nodes.node_files import NodeFiles
from hangtop.probe.nodes.node_gpus import NodeGpusTold, gpu_reading
from hangtop.probe.nodes.node_link import NodeLink
from hangtop.probe.nodes.node_table import Look, NodeTable
from hangtop.probe.processes.run_members import RunTree
from hangtop.probe.source import Source, SourceError
from hangtop.records.gpu import GpuReading
from hangtop.records.nodes import OtherNode
from hangtop.records.process import ProcessReading, unchanged
from hangtop.records.reading import Value
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.environments import KEPT, ProcessFacts
from hangtop.system.processes.exits import Exits
from hangtop.system.processes.login_shells import LoginShells
from hangtop.system.processes.proc_files import namespace, read_text
from hangtop.system.processes.roles import BY_NODE, RANKS, number
from hangtop.system.processes.table import Identity
from hangtop.system.processes.torchrun_line import TORCHRUN, Meeting, meeting_of
from hangtop.system.processes.tree import ancestors

Run = tuple[str, str, int | None]
"""What the ranks of one run have in common: where they meet (MASTER_ADDR:MASTER_PORT), their Slurm job, their user."""
FIRST_S, FIRST_LOOKS = 12.0, 5
"""A line that is being opened is waited for so long, and so many looks may pass until the first rank is found."""
INTERVAL_S = 2.0
"""Between two looks of a node."""
SAME_MACHINE = "{} is this machine, which is seen without it: leave it out of --hosts"


UNTIED = "nothing ties one to this log"
SAME_NODE = "{0} is {1} by another name: leave {0} out of --hosts"


def open_nodes(spec: WatchSpec) -> dict[int, NodeLink]:
    """The lines to the nodes that were named, by their numbers, each begun. Raises `LauncherError`."""
    look = {
        "ranks": (*RANKS, BY_NODE),
        "kept": KEPT,
        "launchers": TORCHRUN.pattern,
        "logs": tuple(from_os(os.path.realpath(log)) for log in spec.logs if log != STDIN),
        "interval_s": INTERVAL_S,
    }
    links = {
        node: NodeLink(node, host, command(spec.launcher or SSH, host), look) for node, host in enumerate(spec.hosts, start=1)
    }
    for link in links.values():
        link.open()
    return links


class NodeSource(Source):
    """Tells the processes of one node whenever a look came from there."""

    interval_s = 0.5
    deadline_s = FIRST_S + 3.0

    def __init__(self, context: ProbeContext, link: NodeLink) -> None:
        self._context, self._link = context, link
        self._table: NodeTable | None = None
        self._tree: RunTree | None = None
        self._generation, self._looked = 0, False
        self._machine = ("", "")
        self._told: ProcessReading | None = None
        self._met: tuple[str, frozenset[Identity]] | None = None
        """Where the ranks here meet, and the processes that were there when it was seen."""
        self._proven: frozenset[Identity] = frozenset()
        """What was tied to the run there while it lived here."""
        self._launching: frozenset[int] = frozenset()
        """Launchers there that meet where one here does, as long as no rank is there."""
        self._runs: frozenset[Run] = frozenset()
        """Those that were taken for the run there."""
        self._files = NodeFiles(link)
        self._gpus: GpuReading | None = None
        self._news: list[GpuReading] = []
        self._twin: str | None = None
        self._refused: str | None = None
        """As of the last look: why nothing there is taken for the run; `_twin`, if that is another name of a node."""

    def read(self, now: float) -> Iterable[Value]:
        """What changed there, if anything. Raises `SourceError` where the node cannot be reached, or does not answer."""
        looks = self._received()
        if not self._looked:
            looks += self._first_looks()
        yield from self._news
        self._news.clear()
        if looks and self._table is not None and self._tree is not None:
            self._twin = self._same_machine()
            roots, untied = self._roots(now)
            self._refused = self._twin or untied
            processes = self._tree.update(roots, {pid: self._table.open_files(pid) for pid in self._table.stats}, now)
            node = self._node(roots)
            if node.tied and self._own_meeting() is not None:
                self._proven = frozenset(Identity(process.pid, process.start_ticks) for process in processes)
            reading = ProcessReading(processes=processes, ended=self._tree.ended, node=node)
            if self._refused is None:
                table, ranks = self._table, [(each.rank, each.pid) for each in processes if each.pid in self._table.stats]
                outputs = ((rank, table.outputs(pid)) for rank, pid in ranks if rank is not None)
                self._context.node_files[self._link.node] = self._files.follow(outputs)
                if self._told is None or not unchanged(self._told, reading):
                    self._told = reading
                    yield reading
        if (problem := self._twin or self._link.problem or self._late() or self._refused) is not None:
            if self._told is not None:  # what was true a while ago is no reading
                self._told = None
                yield ProcessReading()
            raise SourceError(problem)
        self._files.fetch(now)

    def _first_looks(self) -> int:
        """Waits for the first ranks there: until then nothing is known of the node. Returns how many looks came; none if the node
        is not there, for which `read` has the words."""
        looks, until = 0, time.monotonic() + FIRST_S
        while looks < FIRST_LOOKS and self._link.problem is None and time.monotonic() < until:
            self._link.wake.wait(0.1)
            self._link.wake.clear()
            looks += self._received()
            if looks > 1 and self._table is not None and self._ranks(clock.now()):
                break
        if looks == 0 and self._link.problem is None:
            raise SourceError(f"{self._link.host} has not answered yet")
        self._looked = looks > 0
        return looks

    def _same_machine(self) -> str | None:
        """That this machine is watched under an earlier name already."""
        own, links = self._link.hello, self._context.nodes
        before = [link for number, link in sorted(links.items()) if number < self._link.node]
        same = next((link for link in before if own.boot and (link.hello.boot, link.hello.pids) == (own.boot, own.pids)), None)
        return None if same is None else SAME_NODE.format(self._link.host, same.host)

    def _late(self) -> str | None:
        link = self._link
        if link.heard_at is None or not link.is_late:
            return None
        return f"{link.host} does not answer since {clock_of(link.heard_at)}"

    def _received(self) -> int:
        """Takes in what came, and returns how many looks there were."""
        looks = 0
        while self._link.received:
            generation, told = self._link.received.popleft()
            if generation != self._generation:
                self._begin(generation)
            assert self._table is not None
            self._table.offset_s = self._link.offset_s
            if isinstance(told, Look):
                self._table.take(told)
                looks += 1
            elif isinstance(told, NodeGpusTold):
                self._gpus = gpu_reading(told, self._link.node, self._link.offset_s, self._gpus)
                self._news.append(self._gpus)
            else:
                self._table.boot_at = told
        return looks

    def _begin(self, generation: int) -> None:
        """A line that was opened anew begins with everything."""
        hello = self._link.hello
        if hello.boot == read_text("/proc/sys/kernel/random/boot_id") and hello.pids == namespace("self", "pid"):
            raise SourceError(SAME_MACHINE.format(self._link.host))
        self._generation, self._gpus = generation, None
        self._news.clear()
        if self._machine != (machine := (hello.boot, hello.pids)):  # its pids mean other processes
            self._machine, self._proven = machine, frozenset()
        table = self._table = NodeTable(self._link.node, hello.ticks_per_s)
        self._tree = RunTree(self._context.spec, table, Exits(), LoginShells(table))

    def _roots(self, now: float) -> tuple[list[int], str | None]:
        """The processes there that have a rank's number in this run; and that only ranks of other runs are there, or that nothing
        tells which of them it is. Where some know where they meet, the others are what started these (`srun torchrun`)."""
        ranks = self._ranks(now)
        self._launching = frozenset() if ranks else frozenset(self._launchers(now))
        if not ranks:
            return sorted(self._launching), None
        runs = grouped(ranks.items(), self._run_of)
        runs = {run: ranks for run, ranks in runs.items() if run[0]} or runs
        mine = self._own_meeting()
        if mine is not None:
            runs = {run: ranks for run, ranks in runs.items() if run[0] == mine} or runs
        else:  # it has ended here
            runs = {run: ranks for run, ranks in runs.items() if any(self._was_proven(pid) for pid, _ in ranks)} or runs
        if not runs:
            return [], None
        host, there = self._link.host, ", ".join(sorted(_words(run) for run in runs))
        if mine is not None and mine not in {run[0] for run in runs}:
            return [], f"{host}: the ranks there meet at {there}, this one at {mine}: {UNTIED}"
        if mine is not None and not self._reaches(mine):
            return [], f"{host}: the ranks here meet at {mine}, where no other machine comes: {UNTIED}"
        if len(runs) > 1:
            return [], f"{host}: the ranks there meet at {there}: {UNTIED}"
        return self._chosen(runs, [pid for ranks in runs.values() for pid, _ in ranks]), None

    def _chosen(self, runs: Iterable[Run], roots: list[int]) -> list[int]:
        """These roots. What was taken for the run before, and is of another one, is forgotten; a run without ranks is not."""
        chosen = frozenset(runs)
        if chosen and chosen != self._runs:
            if self._runs and self._tree is not None:
                self._tree.forget()
                self._files = NodeFiles(self._link)
            self._runs = chosen
        return roots

    def _reaches(self, meeting: str) -> bool:
        """Whether this node comes to that place: its own loopback is another machine's, unless it shares our network."""
        host = meeting.rpartition(":")[0].strip("[]")
        ours = self._link.hello.boot == read_text("/proc/sys/kernel/random/boot_id")
        own = host in ("localhost", "0.0.0.0") or is_loopback(meeting)
        return not own or (ours and self._link.hello.net == namespace("self", "net"))

    def _launchers(self, now: float) -> list[int]:
        """Those there that meet where a launcher here does: they have started no rank yet."""
        procs = self._context.procs
        known = (meeting_of(process.command) for process in (procs.processes if procs else ()))
        here = {_place(meeting) for meeting in known if meeting is not None and self._reaches(meeting.endpoint)}
        assert self._table is not None
        assert self._tree is not None
        facts = self._tree.book.of(self._table.stats, now).items() if here else ()
        return [pid for pid, each in facts if (meeting := meeting_of(each.line)) is not None and _place(meeting) in here]

    def _node(self, roots: list[int]) -> OtherNode:
        """Who this is, and whether all that was taken for the run there is proven to be it: it meets where the ranks here do, or
        is a launcher of the same meeting. A job of Slurm proves nothing: it may hold several runs, a step each. Once the run has
        ended here another one may meet at the same place: then only what was proven before, and what that has started."""
        hello, mine, launcher = self._link.hello, self._own_meeting(), self._context.spec.launcher
        if mine is None and self._proven:
            tied = bool(roots) and all(pid in self._launching or self._was_proven(pid) for pid in roots)
        else:
            tied = bool(roots or self._runs) and all(meeting == mine for meeting, _, _ in self._runs)
        return OtherNode(self._link.node, hello.boot, hello.pids, hello.uid, launcher or SSH, tied=tied)

    def _was_proven(self, pid: int) -> bool:
        """Whether it, or what it descends from, was tied to the run while that lived here."""
        stats = self._table.stats if self._table is not None else {}
        line = [stats[each].identity for each in (pid, *ancestors(stats, pid)) if each in stats]
        return not self._proven.isdisjoint(line)

    def _run_of(self, rank: tuple[int, ProcessFacts]) -> Run:
        assert self._table is not None
        pid, facts = rank
        address, port, job = (facts.environ.get(name, "") for name in ("MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID"))
        return f"{address}:{port}" if address and port else "", job, self._table.owner(pid)

    def _ranks(self, now: float) -> dict[int, ProcessFacts]:
        """The processes there that have a rank's number, of whatever run."""
        if self._table is None or self._tree is None:
            return {}
        facts = self._tree.book.of(self._table.stats, now)
        return {pid: known for pid, known in facts.items() if number(known.environ, (*RANKS, BY_NODE)) is not None}

    def _own_meeting(self) -> str | None:
        """Where the ranks on this machine meet, or met while one of the processes lives that were there then."""
        procs = self._context.procs
        living = {Identity(each.pid, each.start_ticks) for each in procs.processes if not each.exited} if procs else set()
        if procs is not None and (met := procs.rendezvous) is not None:
            self._met = f"{met.address}:{met.port}", frozenset(living)
            return self._met[0]
        return self._met[0] if self._met is not None and not self._met[1].isdisjoint(living) else None


def _place(meeting: Meeting) -> tuple[str, str]:
    return meeting.endpoint, meeting.id


def _words(run: Run) -> str:
    """Where the ranks of a run meet, else what else is known of it."""
    meeting, job, owner = run
    return meeting or (f"job {job}" if job else f"no MASTER_PORT, user {owner}")
