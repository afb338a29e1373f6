"""All logs of the run, followed, digested and joined into one reading."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from msgspec.structs import replace

from hangtop.logs.joined_logs import join_logs
from hangtop.logs.rank_rows import RankRows
from hangtop.probe.context import ProbeContext
from hangtop.probe.log.folder_watch import FolderWatch
from hangtop.probe.log.log_set import LogSet, WorkerLogs
from hangtop.probe.log.profile_files import ProfileFiles
from hangtop.probe.log.reading_pace import ReadingPace
from hangtop.probe.log.tracked_log import TrackedLog
from hangtop.records.log import LogLine, LogReading, RankLog
from hangtop.records.stopped import StoppedRun
from hangtop.system.memory import give_back
from hangtop.system.stores.stop_store import StopStore

POLL_S, CALM_POLL_S = 0.1, 0.5
CALM = 20
"""A quiet log is polled after each twentieth of its silence: waking up is most of what a poll costs."""
POLL_A_FILE_S = 0.0004
WORK_S = 0.25
BREATH_S = 0.005
SLICE_S = 0.05
MOST_TAIL_LINES = 200
FIRST_TAIL_LINES = 1_000
LEAST_SHARE = 4
OPEN_FILES = 10_240
STOPS_EVERY_S = 0.5


class RunLogs:
    """Follows every log. The first reading comes from the ends of the files, so that the screen paints soon; the rest is read in
    slices between polls. About eight readings a second at most, none when nothing is new."""

    def __init__(self, context: ProbeContext) -> None:
        allow_many_open_files()
        self._changes = FolderWatch()
        self._profiles = ProfileFiles(context.spec)
        self._set = LogSet(context, self._profiles.index, self._changes)
        self._beside = WorkerLogs(self._profiles.index)
        give_back()  # memory that loading the profiles took
        self._profile_changes = FolderWatch()
        self._context = context
        self._sent = SentState()
        self._stops = StopStore()
        self._stopped: StoppedRun | None = None
        self._stops_at = 0.0
        self._news = False
        self._working = False
        self._pace = ReadingPace()
        self._spoke_at = 0.0

    @property
    def interval_s(self) -> float:
        """Hardly a pause while the past is read. Thousands of files are polled less often: each costs about 10 microseconds."""
        if self._working:
            return BREATH_S
        calm_s = min((time.monotonic() - self._spoke_at) / CALM, CALM_POLL_S)
        return max(POLL_S, calm_s, len(self._all) * POLL_A_FILE_S)

    @property
    def _all(self) -> tuple[TrackedLog, ...]:
        return (*self._set.logs, *self._beside.logs)

    def read(self, now: float) -> Iterator[LogReading]:
        began = time.monotonic()
        self._find_changes(now)
        self._poll(now)
        self._look_for_a_start()
        yield from self._news_reading(now)
        self._working = self._work()
        while self._working and time.monotonic() - began < WORK_S:
            at = now + time.monotonic() - began
            self._poll(at)
            yield from self._news_reading(at)
            self._working = self._work()

    def close(self) -> None:
        self._changes.close()
        self._profile_changes.close()
        self._set.close()
        self._beside.close()

    def _find_changes(self, now: float) -> None:
        if self._profile_changes.seen() or self._set.is_due(now):
            self._profile_changes.watch(self._profiles.folders)
            problem = self._profiles.problem
            if self._profiles.reload():
                self._set.learn(self._profiles.index)
                self._beside.learn(self._profiles.index)
            self._news |= problem != self._profiles.problem
            if self._profiles.index.rest():
                give_back()
        self._news |= self._set.find_files(now, at_once=self._changes.seen())
        self._news |= self._beside.take_up(self._context.rank_files)
        self._context.index = self._profiles.index

    def _look_for_a_start(self) -> None:
        """Processes that started anew make the past of what was read before."""
        procs = self._context.procs
        if procs is not None and (procs.began_at, procs.older) != self._sent.begun:
            self._sent.begun = (procs.began_at, procs.older)
            self._news = True

    def _poll(self, now: float) -> None:
        for log in self._all:
            self._news |= log.poll(now)
        if self._news:
            self._set.settle()
            self._beside.settle()
            self._context.files, self._context.beside = self._set.files, self._beside.files
        if now >= self._stops_at:
            self._stops_at = now + STOPS_EVERY_S
            stopped = self._stops.latest([log.followed.path for log in self._set.logs])
            self._news |= stopped != self._stopped
            self._stopped = stopped

    def _work(self) -> bool:
        """Read one slice of the past, file by file, then count lines; false when all of it is done."""
        ends_at = time.monotonic() + SLICE_S
        for step in (TrackedLog.catch_up, TrackedLog.count_on):
            for log in self._all:
                while step(log):
                    self._news = True
                    if time.monotonic() >= ends_at:
                        return True
        return False

    def _news_reading(self, now: float) -> Iterator[LogReading]:
        """A reading, if there is news and readings did not cost too much of late."""
        if not self._news or not self._pace.allows(now):
            return
        self._news = False
        self._spoke_at = time.monotonic()
        for log in self._all:
            log.digest()
        began = time.thread_time()
        reading = replace(self._sent.reading(self._set, self._beside, self._profiles), stopped=self._stopped)
        self._context.log, self._context.ranks = reading, self._sent.ranks
        self._pace.spend(now, time.thread_time() - began)
        yield reading


class SentState:
    """What was sent before: a reading carries only new ranks and lines."""

    def __init__(self) -> None:
        self._restarts = -1
        self.begun: tuple[float | None, Mapping[str, int]] = (None, {})
        """Since when the run's processes run, and what of each file is older, by its real path."""
        self.ranks: dict[int, RankLog] = {}
        self._last: dict[int, LogLine] = {}
        self._read_to: dict[int, int] = {}
        self._rows = RankRows()

    def reading(self, logs: LogSet, beside: WorkerLogs, profiles: ProfileFiles) -> LogReading:
        """All that is known, less what was sent before."""
        restarts = logs.restarts + beside.restarts
        fresh = restarts != self._restarts
        if fresh:
            self._restarts, self.ranks, self._last, self._read_to = restarts, {}, {}, {}
        outputs = [(log.facts, log.last_output_at) for log in logs.logs if log.last_output_at is not None]
        reading = join_logs(
            [log.facts for log in logs.logs],
            [*(log.record() for log in logs.logs), *logs.gaps],
            profiles.index.catalog,
            profile=profiles.chosen,
            last_output_at=max((at for _, at in outputs), default=None),
            outputs=outputs,
            caught_up=all(log.caught_up for log in (*logs.logs, *beside.logs)),
            known=self.ranks,
            tail=self._new_lines(logs.logs, FIRST_TAIL_LINES if fresh else MOST_TAIL_LINES),
            fresh=fresh,
            beside=[log.facts for log in beside.logs],
            began_at=self.begun[0],
            rows=self._rows,
            older={log.number: self.begun[1].get(os.path.realpath(log.followed.path), 0) for log in logs.logs},
        )
        self.ranks = self.ranks | {rank.rank: rank for rank in reading.ranks}
        return replace(reading, problem=profiles.problem, began_at=self.begun[0])

    def _new_lines(self, logs: Sequence[TrackedLog], most: int) -> tuple[LogLine, ...]:
        """The newest lines that were not sent or have changed since, as a progress bar does. Many files share the limit."""
        spoke = [log for log in logs if log.followed.offset != self._read_to.get(log.number)]
        self._read_to.update((log.number, log.followed.offset) for log in spoke)
        share = max(LEAST_SHARE, most // max(1, len(spoke)))
        new: list[tuple[float, LogLine]] = []
        for log in spoke:
            last = self._last.get(log.number)
            at = 0.0
            for line in log.tail(share, None if last is None else last.offset):
                at = line.at or at
                if line != last:
                    new.append((at, line))
                    self._last[log.number] = line
        if len(logs) > 1:
            new.sort(key=itemgetter(0))
        return tuple(line for _, line in new[-most:])


def allow_many_open_files() -> None:
    """One descriptor a file, and runs may have thousands of rank logs; the usual limit is 1,024."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(most, OPEN_FILES)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
