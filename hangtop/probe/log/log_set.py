"""All logs of the run: the files that were asked for and the output files of its Ray workers, and new ones as they appear."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from hangtop.logs.extract.literal_index import LiteralIndex
from hangtop.logs.lines.timestamps import LogClock, one_clock
from hangtop.probe.context import ProbeContext, WatchedFile
from hangtop.probe.log.discover import STDIN, FoundLog, discover, rotated_from
from hangtop.probe.log.folder_watch import FolderWatch
from hangtop.probe.log.followed_pipe import FollowedPipe
from hangtop.probe.log.latest_attempt import LatestAttempt
from hangtop.probe.log.tail import TAIL_BYTES, Followed
from hangtop.probe.log.tracked_log import TrackedLog
from hangtop.probe.ray.local.worker_files import MOST_FILES, WorkerLog
from hangtop.records.log import BESIDE, LogFile
from hangtop.system.files.network_filesystems import FileSystem, file_system_of
from hangtop.system.files.read_errors import shown

LOOK_AGAIN_S = 5.0
ALL_TAILS_BYTES = 1 << 20
LEAST_TAIL_BYTES = 4 << 10
WORKER_TAIL_BYTES = 64 << 10


class TrackedLogs:
    """Logs that keep their numbers."""

    def __init__(self, index: LiteralIndex) -> None:
        self.index = index
        self.logs: tuple[TrackedLog, ...] = ()
        self._generation = 0

    @property
    def restarts(self) -> int:
        """Grows when anything of what was told before holds no more."""
        return self._generation + sum(log.restarts for log in self.logs)

    @property
    def files(self) -> tuple[WatchedFile, ...]:
        """For the page source, in the order of their numbers."""
        return tuple(WatchedFile(log.followed.path, log.rank_of, log.shift_s, log.followed.buffer) for log in self.logs)

    def learn(self, index: LiteralIndex) -> None:
        """Other profiles: everything is read again with them."""
        self.index = index
        for log in self.logs:
            log.learn(index, log.found)

    def close(self) -> None:
        for log in self.logs:
            log.followed.close()
        self.logs = ()

    def _start_over(self) -> None:
        self._generation += 1 + self.restarts
        for log in self.logs:
            if not isinstance(log.followed, FollowedPipe):
                log.followed.close()
        self.logs = ()


class LogSet(TrackedLogs):
    """The logs that were asked for. A newer attempt of the run starts their numbers over."""

    def __init__(self, context: ProbeContext, index: LiteralIndex, changes: FolderWatch) -> None:
        super().__init__(index)
        self._context = context
        self.gaps: tuple[LogFile, ...] = ()
        self._changes = changes
        self._newest = LatestAttempt()
        self._looked_at = float("-inf")
        self._pipes: dict[str, FollowedPipe] = {}
        self._systems: dict[str, FileSystem] = {}

    def is_due(self, now: float) -> bool:
        return now - self._looked_at >= LOOK_AGAIN_S

    def find_files(self, now: float, *, at_once: bool) -> bool:
        """Find new files and drop those of an older attempt, if it is time to; true when the files changed."""
        if not at_once and not self.is_due(now):
            return False
        self._looked_at = now
        procs = self._context.procs
        self._newest.alive = procs is not None and any(writer.alive for writer in procs.writers)
        discovery = discover(self._context.spec.logs, self._newest)
        self._changes.watch(discovery.folders)
        found = {log.path: log for log in discovery.logs if log.fault is None}
        before = (self.logs, self.gaps)
        if any(log.followed.path not in found and os.path.lexists(log.followed.path) for log in self.logs):
            self._start_over()
        known = {log.followed.path: log for log in self.logs}
        for path, log in known.items():
            if path in found and found[path].rank != log.found.rank:
                log.learn(self.index, found[path])
        new = [log for path, log in found.items() if path not in known and rotated_from(path) not in known]
        tail_bytes = max(LEAST_TAIL_BYTES, min(TAIL_BYTES, ALL_TAILS_BYTES // max(1, len(new))))
        self.logs += tuple(self._opened(number, log, tail_bytes) for number, log in enumerate(new, len(self.logs)))
        self.gaps = tuple(
            LogFile(path=shown(log.path), status=log.fault.status, problem=log.fault.problem, lines=0)
            for log in discovery.logs
            if log.fault is not None
        )
        return before != (self.logs, self.gaps)

    def settle(self) -> None:
        """Read the lines that were there before us, with one clock for all logs that tell the time in the same way."""
        if not any(log.is_new for log in self.logs):
            return
        for log in self.logs:
            log.scout()
        for zoned in (True, False):
            alike = [log for log in self.logs if log.own_shift_s is not None and log.tells_zone == zoned]
            for log, shift_s in zip(alike, one_clock([log.own_shift_s or 0.0 for log in alike]), strict=True):
                if log.is_new or abs((log.shift_s or 0.0) - shift_s) > LogClock.BELIEVED_S:
                    log.settle(shift_s)
        for log in self.logs:
            if log.is_new:
                log.settle(None)

    def _opened(self, number: int, found: FoundLog, tail_bytes: int) -> TrackedLog:
        where = FileSystem() if found.path == STDIN else self._system(found.path)
        return TrackedLog(number, found, self._follow(found.path, where, tail_bytes), self.index, where)

    def _follow(self, path: str, where: FileSystem, tail_bytes: int) -> Followed | FollowedPipe:
        if path in self._pipes:
            return self._pipes[path]
        if path == STDIN and (stdin := self._context.spec.stdin) is not None:
            self._pipes[path] = FollowedPipe(path, stdin.memory)
            return self._pipes[path]
        if _is_fifo(path):
            self._pipes[path] = FollowedPipe.named(path)
            return self._pipes[path]
        return Followed(path, network=where.network is not None, tail_bytes=tail_bytes)

    def _system(self, path: str) -> FileSystem:
        folder = os.path.dirname(os.path.abspath(path))
        if folder not in self._systems:
            self._systems[folder] = file_system_of(folder)
        return self._systems[folder]


class WorkerLogs(TrackedLogs):
    """The output files of the run's Ray workers, numbered from `BESIDE` on: they hold what the driver log leaves out as repeated.

    Those on other nodes are fetched by `hangtop.probe.ray.workers_source`. A file stays when its worker is dead, because its last
    lines are worth the most then. Another job of the same session is another run, and starts over.
    """

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
            self._start_over()
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
        followed = file.far or Followed(file.path, tail_bytes=WORKER_TAIL_BYTES)
        return TrackedLog(number, FoundLog(file.path, file.rank), followed, self.index, FileSystem())


def _is_fifo(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode) and os.access(path, os.R_OK)
    except OSError:
        return False  # told when it is followed
