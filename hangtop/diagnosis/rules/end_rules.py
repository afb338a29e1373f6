"""Rules over a run that is over: a person stopped it with hangtop, it finished, its writer is gone, its pipe is closed."""

from __future__ import annotations

import signal

from msgspec.structs import replace

from hangtop.common.text import clock, some
from hangtop.diagnosis.facts.after_end import in_exit_handler, never_leaves, works_on
from hangtop.diagnosis.facts.author_fate import ended_well, present_writers
from hangtop.diagnosis.facts.last_words import (
    any_end_said,
    begun_last,
    complained_last,
    complaint,
    died_saying,
    ended_saying,
    left,
    new_last,
    over,
    reported,
    steps_last,
    unheard,
)
from hangtop.diagnosis.facts.message_evidence import said_last, sentence
from hangtop.diagnosis.facts.named_voices import named_alone
from hangtop.diagnosis.facts.silence_limits import FINISH, work_until
from hangtop.diagnosis.facts.stacks_in_log import printed
from hangtop.diagnosis.members.writer_presence import nobody_writes
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.logs.finding_order import is_after
from hangtop.records.process import Writer, exit_words
from hangtop.records.stopped import StoppedRun
from hangtop.records.verdict import Confidence, Culprit, Evidence, Verdict

SHORT_LIFE_S = 3.0
CLOCKS_APART_S = 30.0
"""The time of a file is that of its server, whose clock may go wrong by so much."""
FROM_OUTSIDE = frozenset((signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM))
"""Signals that a person, a scheduler or a launcher sends; a process that fails gets others, or leaves with a code."""


def by_you(snapshot: Snapshot) -> Verdict | None:
    """A person stopped the run with hangtop, or is stopping it, or somebody asked its guard for its end, and nothing was written
    since. What was belongs to another attempt.

    Stands before `tries_again`: what a person stopped is over, whatever a shell does.
    """
    stop = snapshot.log.stopped
    if stop is None or _goes_on(snapshot, stop):
        return None
    where = f" in {stop.place.stage}" if stop.place.stage else ""
    step = f" at step {stop.place.step:,}" if stop.place.step is not None else ""
    if stop.ended_at is None:
        return Verdict(
            word="waiting",
            headline=f"{_under_way(stop)}{where}{step}.",
            refute="its processes go on",
            confidence="certain",
            evidence=(Evidence("procs", f"pid {stop.performer_pid} of hangtop carries it out"),),
        )
    gone = Evidence("procs", f"hangtop {stop.action}: all of its processes are gone since {clock(stop.ended_at)}")
    if stop.signal:
        gone = Evidence("procs", f"its guard was sent {stop.signal} and handed it on; it has ended since {clock(stop.ended_at)}")
    headline = f"{_how(stop)}{where}{step}."
    return replace(_finished(headline, "certain", gone, snapshot.last_output), next=(("r", "start it again"),))


def _under_way(stop: StoppedRun) -> str:
    since = clock(stop.began_at)
    if stop.signal:
        return f"Asked to end ({stop.signal}) since {since}"
    if stop.by_guard:
        return f"Its guard has been stopping this run since {since}; it stood"
    return f"You have been stopping this run since {since}; it stood"


def _how(stop: StoppedRun) -> str:
    at = clock(stop.began_at)
    if stop.signal:
        return f"Ended on request ({stop.signal}) at {at}"
    return f"Stopped by its guard at {at}" if stop.by_guard else f"Stopped by you at {at}"


def with_passage(snapshot: Snapshot, verdict: Verdict) -> Verdict:
    """Of a run that was started again after a person had stopped it: whether it is beyond the step at which it stood then."""
    stop, step = snapshot.log.stopped, snapshot.log.progress.step
    if stop is None or stop.ended_at is None or stop.place.step is None or step is None or not _goes_on(snapshot, stop):
        return verdict
    when = clock(stop.began_at)
    at = f"step {stop.place.step:,}, where you stopped it at {when}"
    if stop.by_guard:
        at = f"step {stop.place.step:,}, where its guard stopped it at {when}"
    if stop.signal:
        at = f"step {stop.place.step:,}, where it was ended on request at {when}"
    if step > stop.place.step and verdict.word == "finished":
        return replace(verdict, headline=f"{verdict.headline} It passed {at}.")
    passed = "it has passed" if step > stop.place.step else "not yet past"
    return replace(verdict, evidence=(Evidence("log", f"started again, {passed} {at}"), *verdict.evidence))


def _goes_on(snapshot: Snapshot, stop: StoppedRun) -> bool:
    """Whether any log has been written since the stop, or a process that began after it writes one: a run that is started again
    may stand after as many bytes as the one before."""
    if stop.ended_at is None:
        return False
    if any(writer.alive and writer.started_at > stop.ended_at for writer in snapshot.procs.writers):
        return True
    files, since = snapshot.log.files, stop.ended_at + CLOCKS_APART_S
    return any(file.size_bytes != stop.sizes.get(file.path, 0) or (file.modified_at or 0.0) > since for file in files)


def died(snapshot: Snapshot) -> Verdict | None:
    """Nobody is seen to write the log any more, and its last lines tell of a death in words that no signature knows: a bare
    exception, a shell's "Segmentation fault", an exit code in a launcher's words, semaphores that were left.

    Stands before `never_comes_to`: a run may die after its last step, and what it said last counts.
    """
    proven = over(snapshot)
    line = died_saying(snapshot) if (proven or unheard(snapshot)) and not ended_well(snapshot) else None
    if line is None:
        return None
    nobody = "no process here writes the log any more" if proven else "no process that writes the log is seen"
    return Verdict(
        word="crashed",
        headline=sentence(line.text.strip()),
        refute="a process goes on writing the log, here or elsewhere",
        confidence="likely" if proven else "possible",
        culprits=_named(line.text.strip()),
        evidence=(Evidence("procs", nobody), snapshot.last_output),
    )


def _named(text: str) -> tuple[Culprit, ...]:
    """The one rank of which the last words speak."""
    named = named_alone(text)
    return () if named is None else (Culprit(named[0], named[1], None, "likely", (text,)),)


def finished(snapshot: Snapshot) -> Verdict | None:
    """The finish stage was reached; or no writer is left, and the last step of a known total was reached, or the last lines tell
    of an end, such as an early stop. A process that ended with an error afterwards had not finished, a run of which somebody
    still works or whose script has more to do only ended a part, and processes that wait for each other after the end never
    leave; nor had one of which a stack stands in the log.

    Stands before `writer_gone`: after the end its processes leave, and that is no crash.
    """
    progress = snapshot.log.progress
    at_end = progress.step is not None and progress.total is not None and progress.step >= progress.total and not progress.partial
    last = progress.step is not None and progress.total is not None and progress.step == progress.total - 1  # counted from 0
    at_end = at_end or (last and not progress.partial and steps_last(snapshot) and left(snapshot))
    reached = snapshot.stage is not None and snapshot.stage.id == FINISH
    if reached and (works_on(snapshot) or never_leaves(snapshot) or in_exit_handler(snapshot) or snapshot.procs.scripts):
        return None
    if reached and (_failed_after(snapshot) or _waited_in_vain(snapshot)):
        return None
    report = None if _failed_after(snapshot) else reported(snapshot)
    said = None if reached or not over(snapshot) else ended_saying(snapshot) or report
    counted_out = at_end and _closed(snapshot) and not _waited_in_vain(snapshot) and not printed(snapshot)
    if not reached and said is None and not counted_out:
        return None
    steps = f" after {some(progress.step, 'step')}" if progress.step else ""
    return _finished(f"The run finished{steps}.", "certain" if reached else "likely", snapshot.last_output)


def _waited_in_vain(snapshot: Snapshot) -> bool:
    """After the last step ranks said that they had waited for another one until a limit ran out."""
    stage = snapshot.stage
    waited = (each for each in snapshot.findings if each.severity == "fatal" and each.hang == "hang-then-crash")
    return any(stage is not None and is_after(each, stage) and not each.survived for each in waited) or _holds_on(snapshot)


def _holds_on(snapshot: Snapshot) -> bool:
    """Whether something is waited for since the end, as its message says, and a stack of one that stands is in the log."""
    stage = snapshot.stage
    told = any(stage is not None and each.is_wait and is_after(each, stage) and not each.survived for each in snapshot.findings)
    return told and bool(printed(snapshot))


def _finished(headline: str, sure: Confidence, *evidence: Evidence, refute: str = "new output after the last line") -> Verdict:
    return Verdict("finished", headline, refute, confidence=sure, evidence=evidence)


def _failed_after(snapshot: Snapshot) -> bool:
    """All that wrote the log have ended, and one with an error of its own. A signal from outside ends what stands by, done."""
    writers = present_writers(snapshot.procs)
    codes = [writer.exit_code for writer in writers if is_run(writer)]
    return not any(writer.alive for writer in writers) and any(code and -code not in FROM_OUTSIDE for code in codes)


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
    if snapshot.silence_s is None or snapshot.log.progress.in_round:
        return False
    if _is_busy(snapshot):
        return snapshot.silence_s > snapshot.limit.stalled_s
    return snapshot.silence_s > min(snapshot.limit.slow_s, max(30.0, 3 * (snapshot.log.pace.p95_s or 0.0)))


def _is_busy(snapshot: Snapshot) -> bool:
    """Whether the run said after its last step that it does something else: a save, an evaluation."""
    aside = (
        snapshot.plan is not None and not snapshot.plan.steady and snapshot.stage is not None and snapshot.stage.done_at is None
    )
    until = work_until(snapshot.log, snapshot.spec)
    return aside or (until is not None and snapshot.now <= until)


def copy_ended(snapshot: Snapshot) -> Verdict | None:
    """The log is a copy, and what copied it (`kubectl logs -f`, `ssh`) has ended or is stopped. That says nothing of the run.

    Stands before `writer_gone`: who copies a log is not the run.
    """
    copier = snapshot.copier
    if copier is None or (copier.writer.alive and not copier.stopped):
        return None
    writer = copier.writer
    how = "is stopped"
    if not writer.alive:
        how = "ended, " + ("exit code not known" if writer.exit_code is None else exit_words(writer.exit_code))
    return Verdict(
        word="blind",
        headline=f"The log is only a copy, and nobody copies it: pid {writer.pid} {writer.name} {how}.",
        refute="new output after the last line",
        confidence="certain",
        evidence=(Evidence("procs", copier.text, None), snapshot.last_output),
        detail="What is shown is old. The run may be well.",
    )


def writer_gone(snapshot: Snapshot) -> Verdict | None:
    """Every process that was seen writing the log has ended, and the log never said that the run finished. A log written from
    another node has no writers here, so this rule says nothing of it.

    Stands before `broke_off`: how a process ended says more than that nobody is left.
    """
    writers = tuple(filter(is_run, present_writers(snapshot.procs)))
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


def broke_off(snapshot: Snapshot) -> Verdict | None:
    """Nobody writes the log any more, which is proven, and the last step of a known total was not reached, or a step of an
    unknown one is the last line. Nothing was said of an end, and nobody saw how the process left.

    Stands before `left_with_words`: a step that is the last line says that nothing was said of an end.
    """
    progress, ray = snapshot.log.progress, snapshot.log.ray
    if progress.step is None or progress.partial or ray is not None or not left(snapshot):
        return None
    is_last = progress.total is not None and progress.step >= progress.total - 1
    if is_last or snapshot.procs.writers or any_end_said(snapshot) or (progress.total is None and not steps_last(snapshot)):
        return None
    at = f"step {progress.step:,}" + (f" of {progress.total:,}" if progress.total is not None else "")
    return Verdict(
        word="crashed",
        headline=f"Nobody here writes the log any more; it ends at {at}, without a word.",
        refute="a process goes on writing the log, here or elsewhere",
        kind="dead_process",
        confidence="possible",
        evidence=(Evidence("procs", "no process here writes the log any more"), snapshot.last_output),
    )


def left_with_words(snapshot: Snapshot) -> Verdict | None:
    """Nobody writes the log any more, which is proven, and behind its last step the run said something that no other rule knows.
    What was killed says nothing there: a complaint tells why it left, anything else that it was done. With a known total, or
    where only a part is counted, that something must be new: what follows each step in the run's course tells nothing. Of a run
    without steps only a complaint counts, as the last line of all. Nobody saw how it left: neither is more than possible.

    Stands before `driver_gone`: what a log says of its own end needs no look at Ray.
    """
    progress = snapshot.log.progress
    if snapshot.log.ray is not None or snapshot.procs.writers:
        return None
    line = complained_last(snapshot) if progress.step is None else complaint(snapshot)
    says_why = any_end_said(snapshot) or (progress.step is None and line is not None)
    if not (over(snapshot) if says_why else left(snapshot)) or steps_last(snapshot) or begun_last(snapshot):
        return None
    rested_s = snapshot.log.longest_silence_s or 0.0
    if progress.step is None and (line is None or (snapshot.unwritten_s or 0.0) <= rested_s):
        return None  # a loop that opens its log for each complaint rests as long again
    if (progress.partial or progress.total is not None) and not new_last(snapshot):
        return None
    nobody = Evidence("procs", "no process here writes the log any more")
    if line is None:
        headline = f"The run ended after {some(progress.step or 0, 'step')}, and did not say how."
        return _finished(headline, "possible", nobody, snapshot.last_output, refute="its exit code was not 0")
    return Verdict(
        word="crashed",
        headline=sentence(line.text.strip()),
        refute="its exit code was 0",
        confidence="possible",
        culprits=_named(line.text.strip()),
        evidence=(nobody, snapshot.last_output),
    )


def is_run(writer: Writer) -> bool:
    """Whoever wrote a line and left at once (`echo … >> train.log`, a cron job) is not the run, unless hangtop started it."""
    return writer.alive or writer.started_here or (writer.gone_at or 0.0) - writer.started_at >= SHORT_LIFE_S
