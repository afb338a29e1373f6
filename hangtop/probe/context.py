"""What the sources of one probe tell each other. Each field has one writer.

The log source tells which files are watched, by number, and what the log says; the process source who writes it. The Ray source
joins that with its clusters and tells whose output files are this run's, which the log source then reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from msgspec import Struct

from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.lines.block_lines import Writer
from hangtop.probe.log.row_blocks import Readable
from hangtop.probe.ray.dashboard.worker_access import ClusterAccess
from hangtop.probe.ray.local.worker_files import WorkerLog
from hangtop.records.log import BESIDE, LogReading, RankLog
from hangtop.records.process import Process, ProcessReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.table import Identity


class WatchedFile(Struct, frozen=True):
    """One of them. A pipe and a far file are not here: what is kept of them stands in a spool. `rank_of` tells, as far as it was
    learned by now, whose line it is; `shift_s` makes unix time of the log's own clock."""

    path: str
    rank_of: Callable[[Writer], int | None]
    shift_s: float | None = None
    spool: Readable | None = None


class Watched:
    """What is watched now. Each field is replaced as a whole, never changed: threads need no lock.

    `files`, `index`, `log`, `ranks`: of the log source. `beside`: its files beside the log, the first has number `BESIDE`.
    `procs`: of the process source; `checkpoint_dir`: of the checkpoint source. Of the Ray source: `ray_workers`, the run's
    workers on this machine; `workers`, the output files of all of them; `access`, how the clusters that it sees are asked, by
    session.
    """

    def __init__(self) -> None:
        self.files: tuple[WatchedFile, ...] = ()
        self.beside: tuple[WatchedFile, ...] = ()
        self.index: LiteralIndex | None = None
        self.log: LogReading | None = None
        self.ranks: Mapping[int, RankLog] = {}
        self.procs: ProcessReading | None = None
        self.checkpoint_dir: str | None = None
        self.ray_workers: frozenset[Identity] = frozenset()
        self.workers: tuple[WorkerLog, ...] = ()
        self.access: Mapping[str, ClusterAccess] = {}

    @property
    def members(self) -> tuple[Process, ...] | None:
        """The processes that are the run's own by proof: they write its log, or belong to who does. `None` before the first look
        at them. A process that is only taken for a writer proves nothing."""
        if self.procs is None:
            return None
        return () if self.procs.taken else tuple(process for process in self.procs.processes if process.state not in "ZX")

    def file(self, number: int) -> WatchedFile | None:
        """The file of this number; `None` when there is none."""
        files, place = (self.files, number) if number < BESIDE else (self.beside, number - BESIDE)
        return files[place] if 0 <= place < len(files) else None


@lru_cache(maxsize=4)
def watched(spec: WatchSpec) -> Watched:
    """The one table for this spec in this process."""
    return Watched()
