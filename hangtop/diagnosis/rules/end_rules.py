"""Rules over a run that is over: a person stopped it with hangtop, it finished, its writer is gone, its pipe is closed."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.common.text import clock, some
from hangtop.diagnosis.facts.message_evidence import said_last
from hangtop.diagnosis.facts.silence_limits import FINISH
from hangtop.diagnosis.members.writer_presence import nobody_writes
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.process import Writer, exit_words
from hangtop.records.stopped import StoppedRun
from hangtop.records.verdict import Confidence, Evidence, Verdict

SHORT_LIFE_S = 3.0


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
    gone = Evidence("procs", f"hangtop {stop.action}: all of its processes are gone since {clock(stop.ended_at)}")
    headline = f"Stopped by you at {clock(stop.began_at)}{where}{step}."
    return replace(_finished(headline, "certain", gone, snapshot.last_output), next=(("r", "start it again"),))


def with_passage(snapshot: Snapshot, verdict: Verdict) -> Verdict:
    """Of a run that was started again after a person had stopped it: whether it is beyond the step at which it stood then."""
    stop, step = snapshot.log.stopped, snapshot.log.progress.step
    if stop is None or stop.ended_at is None or stop.place.step is None or step is None or not _goes_on(snapshot, stop):
        return verdict
    at = f"step {stop.place.step:,}, where you stopped it at {clock(stop.began_at)}"
    if step > stop.place.step and verdict.word == "finished":
        return replace(verdict, headline=f"{verdict.headline} It passed {at}.")
    passed = "it has passed" if step > stop.place.step else "not yet past"
    return replace(verdict, evidence=(Evidence("log", f"started again, {passed} {at}"), *verdict.evidence))


def _goes_on(snapshot: Snapshot, stop: StoppedRun) -> bool:
    """Whether any log has grown since the stop."""
    if stop.ended_at is None:
        return False
    return any(file.size_bytes != stop.sizes.get(file.path, 0) for file in snapshot.log.files)


def finished(snapshot: Snapshot) -> Verdict | None:
    """The finish stage was reached, or the last step of a known total with no writer left.

    Stands before `writer_gone`: after the end its processes leave, and that is no crash.
    """
    progress = snapshot.log.progress
    at_end = progress.step is not None and progress.total is not None and progress.step >= progress.total
    reached = snapshot.stage is not None and snapshot.stage.id == FINISH
    if not reached and not (at_end and _closed(snapshot)):
        return None
    steps = f" after {some(progress.step, 'step')}" if progress.step else ""
    return _finished(f"The run finished{steps}.", "certain" if reached else "likely", snapshot.last_output)


def _finished(headline: str, sure: Confidence, *evidence: Evidence, refute: str = "new output after the last line") -> Verdict:
    return Verdict("finished", headline, refute, confidence=sure, evidence=evidence)


def pipe_closed(snapshot: Snapshot) -> Verdict | None:
    """The log was a pipe, and its writer closed it without a word on how the run ended.

    Stands before `driver_hung`: nobody writes any more, so that silence is no sign of a hang.
    """
    files = snapshot.log.files
    if not files or any(file.status != "closed" for file in files):
        return None
    headline = "The writer closed its pipe; the log does not say whether the run did what it should."
    return _finished(headline, "possible", snapshot.last_output, refute="the run's own exit code is not 0")


def _closed(snapshot: Snapshot) -> bool:
    """Nobody writes any more: the writers that were seen are gone, or it is proved that there is none (processes we may not look
    into, or a network file system, would leave that open). Without such proof a long silence has to do."""
    if snapshot.log.files and all(file.status == "closed" for file in snapshot.log.files):
        return True
    if snapshot.procs.writers:
        return not any(writer.alive for writer in snapshot.procs.writers)
    if nobody_writes(snapshot.state):
        return True
    return snapshot.silence_s is not None and snapshot.silence_s > min(
        snapshot.limit.slow_s, max(30.0, 3 * (snapshot.log.pace.p95_s or 0.0))
    )


def writer_gone(snapshot: Snapshot) -> Verdict | None:
    """Every process that was seen writing the log has ended, and the log never said that the run finished. A log written from
    another node has no writers here, so this rule says nothing of it.

    Stands before `driver_gone`: an exit code says more than a driver that Ray no longer lists.
    """
    writers = tuple(filter(_is_run, snapshot.procs.writers))
    if not writers or any(writer.alive for writer in writers):
        return None
    written_at = snapshot.log.last_output_at
    if written_at is not None and written_at > max(writer.gone_at or 0.0 for writer in writers):
        return None  # another process writes it, one that was not met yet
    last = max(writers, key=lambda writer: (bool(writer.exit_code), writer.gone_at or 0.0))
    if last.exit_code == 0:
        ended = Evidence("procs", f"pid {last.pid} {last.name} ended at {clock(last.gone_at)}")
        headline = f"The run ended with exit code 0 at {clock(last.gone_at)}."
        return _finished(headline, "certain", ended, refute="another process goes on writing the log")
    how = "exit code not known" if last.exit_code is None else exit_words(last.exit_code)
    return Verdict(
        word="crashed",
        headline=f"The run's process is gone: pid {last.pid} {last.name} ended, {how}.",
        refute="a supervisor starts the run again",
        kind="dead_process",
        confidence="likely" if last.exit_code is None else "certain",
        evidence=(
            Evidence("procs", f"pid {last.pid} {last.name} gone since {clock(last.gone_at)}, ended, {how}"),
            *(said_last(snapshot) or [snapshot.last_output]),
        ),
    )


def _is_run(writer: Writer) -> bool:
    """Whoever wrote a line and left at once (`echo … >> train.log`, a cron job) is not the run."""
    return writer.alive or (writer.gone_at or 0.0) - writer.started_at >= SHORT_LIFE_S
