"""The output files of a Ray run's workers, which hold what the deduplicated driver log leaves out. Those on other nodes are
fetched by `hangtop.probe.ray.workers_source`."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.probe.log.discover import FoundLog
from hangtop.probe.log.tail import Followed
from hangtop.probe.log.tracked_log import TrackedLog, TrackedLogs
from hangtop.probe.ray.local.worker_files import MOST_FILES, WorkerLog
from hangtop.records.log import BESIDE
from hangtop.system.files.network_filesystems import FileSystem

TAIL_BYTES = 64 << 10


class WorkerLogs(TrackedLogs):
    """The files of the run's ranks, numbered from `BESIDE` on. A file stays when its worker is dead, because its last lines are
    worth the most then. Another job of the same session is another run, and starts over."""

    def __init__(self, index: LiteralIndex) -> None:
        super().__init__(index)
        self._wanted: Sequence[WorkerLog] = ()
        self._job: str | None = None

    def take_up(self, wanted: Sequence[WorkerLog]) -> bool:
        """Take up new files; true when the files changed."""
        if wanted is self._wanted or not wanted:
            return False
        self._wanted = wanted
        before = self.logs
        if self._job not in (None, wanted[0].job):
            self._generation += 1 + self.restarts
            self.close()
        self._job = wanted[0].job
        known = {log.followed.path for log in self.logs}
        new = [file for file in wanted if file.path not in known][: MOST_FILES - len(known)]
        self.logs += tuple(self._opened(number, file) for number, file in enumerate(new, BESIDE + len(known)))
        return before != self.logs

    def settle(self) -> None:
        """Read the lines that were there before us by each file's own clock: the files are written on many hosts."""
        for log in self.logs:
            if log.is_new:
                log.scout()
                log.settle(log.own_shift_s)

    def _opened(self, number: int, file: WorkerLog) -> TrackedLog:
        followed = file.far or Followed(file.path, tail_bytes=TAIL_BYTES)
        return TrackedLog(number, FoundLog(file.path, file.rank), followed, self.index, FileSystem())
