"""What the sources of one probe share: the spec, and what they tell each other.

The log source tells which files are watched and what they say, the process source which processes write them. The Ray source
joins both with its clusters and tells whose output files are this run's, which the log source then reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from hangtop.records.log import BESIDE, LogReading, RankLog
from hangtop.records.process import Process, ProcessReading
from hangtop.records.watch_spec import WatchSpec

if TYPE_CHECKING:  # the first picture of a log does not wait for what reads it
    from hangtop.logs.extract.literal_index import LiteralIndex
    from hangtop.logs.lines.block_lines import Writer
    from hangtop.probe.log.row_blocks import Readable
    from hangtop.probe.nodes.node_link import NodeLink
    from hangtop.probe.ray.cluster import Cluster
    from hangtop.probe.ray.local.worker_files import WorkerLog
    from hangtop.system.processes.table import Identity


class WatchedFile(Struct, frozen=True):
    """A log as the page source reads it. `rank_of`: whose line it is, as far as the log has told. `shift_s`: from the log's clock
    to unix time. `buffer`: the last bytes of a pipe or of a file on another node, which cannot be opened again."""

    path: str
    rank_of: Callable[[Writer], int | None]
    shift_s: float | None = None
    buffer: Readable | None = None


class ProbeContext:
    """Built once by a probe and passed to every source. Each field has one writer, which replaces it as a whole: threads need no
    lock."""

    def __init__(self, spec: WatchSpec) -> None:
        self.spec = spec

        # by the probe, before any source begins
        self.nodes: Mapping[int, NodeLink] = {}
        """The lines to other nodes, by their numbers."""
        self.node_files: dict[int, tuple[WorkerLog, ...]] = {}
        """Output files of ranks on these nodes, by node: each is written by the source of that node."""

        # by the log source
        self.files: tuple[WatchedFile, ...] = ()
        self.beside: tuple[WatchedFile, ...] = ()
        """Output files of Ray workers; the first has number `BESIDE`."""
        self.index: LiteralIndex | None = None
        self.log: LogReading | None = None
        self.ranks: Mapping[int, RankLog] = {}

        # by the process source and the checkpoint source
        self.procs: ProcessReading | None = None
        self.checkpoint_dir: str | None = None

        # by the Ray source
        self.ray_workers: frozenset[Identity] = frozenset()
        """The run's workers on this machine."""
        self.ray_daemons: frozenset[Identity] = frozenset()
        """What keeps the clusters of this machine, whoever works on them."""
        self.workers: tuple[WorkerLog, ...] = ()
        """The output files of all its workers."""
        self.access: Mapping[str, Cluster] = {}
        """The clusters, by session: how each is asked."""

    @property
    def rank_files(self) -> tuple[WorkerLog, ...]:
        """Output files of single ranks: of Ray's workers, else of the ranks on other nodes."""
        return self.workers or tuple(file for files in tuple(self.node_files.values()) for file in files)

    @property
    def members(self) -> tuple[Process, ...] | None:
        """The processes that are proven to be the run's: they write its log, or belong to a process that does. `None` before the
        process source has looked. A process that is only taken for a writer proves nothing."""
        if self.procs is None:
            return None
        return () if self.procs.taken else tuple(process for process in self.procs.processes if process.state not in "ZX")

    def file(self, number: int) -> WatchedFile | None:
        """The file of this number; `None` when there is none."""
        files, place = (self.files, number) if number < BESIDE else (self.beside, number - BESIDE)
        return files[place] if 0 <= place < len(files) else None
