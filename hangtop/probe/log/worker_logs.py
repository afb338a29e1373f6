"""Files beside the run's log: the output files of a Ray run's workers, which hold what the deduplicated driver log leaves out.

Those of other nodes too: `hangtop.probe.ray.workers_source` fetches them."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.probe.context import WatchedFile
from hangtop.probe.log.discover import FoundLog
from hangtop.probe.log.tail import Followed
from hangtop.probe.log.tracked_log import TrackedLog
from hangtop.probe.ray.dashboard.remote_log import FollowedRemoteLog, RemoteLog
from hangtop.probe.ray.local.worker_files import MOST_FILES, WorkerLog
from hangtop.records.log import BESIDE
from hangtop.system.files.network_filesystems import FileSystem

TAIL_BYTES = 64 << 10


class WorkerLogs:
    """The files of the run's ranks, numbered from `BESIDE` on. A file stays when its worker is dead: its last
    lines are worth the most then. Another job of the same session is another run, and starts over."""

    def __init__(self, index: LiteralIndex) -> None:
        self.logs: tuple[TrackedLog, ...] = ()
        self._index = index
        self._wanted: Sequence[WorkerLog] = ()
        self._job: str | None = None
        self._generation = 0

    @property
    def restarts(self) -> int:
        """Grows when anything of what was told before holds no more."""
        return self._generation + sum(log.restarts for log in self.logs)

    @property
    def files(self) -> tuple[WatchedFile, ...]:
        """For who wants to read pages of them, in order of their numbers."""
        return tuple(WatchedFile(log.followed.path, log.rank_of, log.shift_s, _kept(log)) for log in self.logs)

    def take_up(self, wanted: Sequence[WorkerLog]) -> bool:
        """Takes up the files that are new; true when there are other files than before."""
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
        """What was there when we came is read by each file's own clock: they are written on many hosts, and none is a copy."""
        for log in self.logs:
            if log.is_new:
                log.scout()
                log.settle(log.own_shift_s)

    def learn(self, index: LiteralIndex) -> None:
        """Other profiles: everything is read again with it."""
        self._index = index
        for log in self.logs:
            log.learn(index, log.found)

    def close(self) -> None:
        for log in self.logs:
            log.followed.close()
        self.logs = ()

    def _opened(self, number: int, file: WorkerLog) -> TrackedLog:
        followed = Followed(file.path, tail_bytes=TAIL_BYTES) if file.far is None else FollowedRemoteLog(file.far)
        return TrackedLog(number, FoundLog(file.path, file.rank), followed, self._index, FileSystem())


def _kept(log: TrackedLog) -> RemoteLog | None:
    return log.followed.far if isinstance(log.followed, FollowedRemoteLog) else None
