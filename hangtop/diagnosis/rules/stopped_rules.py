"""Rules over a run that a person stopped with hangtop: no error ended it, whatever its processes said at their end."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.common.text import clock
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.stopped import StoppedRun
from hangtop.records.verdict import Evidence, Verdict


def by_you(snapshot: Snapshot) -> Verdict | None:
    """A person stopped the run with hangtop, or is stopping it, and no log has grown since. A log that has grown belongs to
    another attempt.

    Stands before `crashed`: processes that a signal ends print errors, and these are no crash.
    """
    stop = snapshot.log.stopped
    if stop is None or _goes_on(snapshot, stop):
        return None
    where = f" in {stop.place.stage}" if stop.place.stage else ""
    step = f" at step {stop.place.step:,}" if stop.place.step is not None else ""
    if stop.ended_at is None:
        return Verdict(
            word="waiting",
            headline=f"You have been stopping this run since {clock(stop.began_at)}; it stood{where}{step}.",
            refute="its processes go on",
            confidence="certain",
            evidence=(Evidence("procs", f"pid {stop.performer_pid} of hangtop carries it out"),),
        )
    return Verdict(
        word="finished",
        headline=f"Stopped by you at {clock(stop.began_at)}{where}{step}.",
        refute="new output after the last line",
        confidence="certain",
        evidence=(
            Evidence("procs", f"hangtop {stop.action}: all of its processes are gone since {clock(stop.ended_at)}"),
            Evidence("log", snapshot.last_output),
        ),
        next=(("r", "start it again"),),
    )


def with_passage(snapshot: Snapshot, verdict: Verdict) -> Verdict:
    """Of a run that was started again after a person had stopped it: whether it is beyond the step at which it stood then."""
    stop, step = snapshot.log.stopped, snapshot.log.progress.step
    if stop is None or stop.ended_at is None or stop.place.step is None or step is None or not _goes_on(snapshot, stop):
        return verdict
    at = f"step {stop.place.step:,}, where you stopped it at {clock(stop.began_at)}"
    if step <= stop.place.step:
        return replace(verdict, evidence=(Evidence("log", f"started again, not yet past {at}"), *verdict.evidence))
    if verdict.word == "finished":
        return replace(verdict, headline=f"{verdict.headline} It passed {at}.")
    return replace(verdict, evidence=(Evidence("log", f"started again, it has passed {at}"), *verdict.evidence))


def _goes_on(snapshot: Snapshot, stop: StoppedRun) -> bool:
    """Whether any log has grown since the stop."""
    if stop.ended_at is None:
        return False
    return any(file.size_bytes != stop.sizes.get(file.path, 0) for file in snapshot.log.files)
