"""Somebody asks the guard for the end of the run that it started (Slurm, systemd, Ctrl-C): the signal is handed on to it.

That no error ended the run is kept where the judge looks for it, as after `hangtop stop`.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

from msgspec.structs import replace

from hangtop.actions.plans.stop_plan import run_place
from hangtop.common import clock
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.logs.extract.steps.pace import HEALTHY_STEPS
from hangtop.records.stopped import RunPlace, StoppedRun
from hangtop.records.verdict import Verdict
from hangtop.system.processes.linux import read_stat
from hangtop.system.stores import stop_store


class EndOnRequest:
    """`log`: of the run. `has_ended`: whether its first process has. `number`: the signal by which somebody asked for its end."""

    def __init__(self, log: str, has_ended: Callable[[], bool]) -> None:
        self._has_ended = has_ended
        self._place = RunPlace((os.path.realpath(log),))
        self._stop: StoppedRun | None = None
        self._sizes: dict[str, int] | None = None
        self.number: signal.Signals | None = None

    def asked(self, number: signal.Signals) -> None:
        """It was handed on just now."""
        self.number = number
        stat = read_stat(os.getpid())
        ticks = stat.start_ticks if stat is not None else 0
        self._keep(StoppedRun("guard", self._place, clock.now(), os.getpid(), ticks, signal=number.name))

    def look(self, snapshot: Snapshot, _: Verdict) -> None:
        """How far the run has come; and after the request, whether it has ended and its log has grown to its end."""
        if self._stop is None:
            self._place = run_place(snapshot.state) or self._place
        elif self._stop.ended_at is None and self._has_ended():
            before, self._sizes = self._sizes, _sizes(self._stop.place)
            if before == self._sizes:
                self._keep(replace(self._stop, ended_at=snapshot.now, sizes=self._sizes))
        elif self._stop.ended_at is None and _has_other_plans(snapshot, self._stop):
            with contextlib.suppress(OSError):  # it does not count once the guard has ended
                stop_store.forget(self._stop)
            self._stop = None

    def _keep(self, stop: StoppedRun) -> None:
        self._stop = stop
        with contextlib.suppress(OSError):  # a full disk: the judge does without, and the exit code tells it all the same
            stop_store.keep(stop)


def _has_other_plans(snapshot: Snapshot, stop: StoppedRun) -> bool:
    """Whether the run trains on as if nobody had asked, or has been silent since for longer than its stage may be: a last step
    and a last save are part of its end. Then it is judged as any other again."""
    progress, pace, before = snapshot.log.progress, snapshot.log.pace, stop.place.step
    if progress.step is not None and before is not None and progress.step - before > HEALTHY_STEPS * pace.every:
        return True
    since_s = snapshot.now - stop.began_at
    return min(since_s, since_s if snapshot.silence_s is None else snapshot.silence_s) > snapshot.limit.stalled_s


def _sizes(place: RunPlace) -> dict[str, int]:
    return {os.path.realpath(log): os.path.getsize(log) for log in place.logs if os.path.isfile(log)}
