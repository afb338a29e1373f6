"""Rules over the processes: the writer of the log is gone."""

from __future__ import annotations

from hangtop.common.text import clock
from hangtop.diagnosis.facts.last_error_line import last_error_line
from hangtop.diagnosis.facts.message_text import short
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.process import Writer, exit_words
from hangtop.records.verdict import Evidence, Verdict

SHORT_LIFE_S = 3.0


def writer_gone(snapshot: Snapshot) -> Verdict | None:
    """Every process that was seen writing the log has ended, and the log never said that the run finished. A log written from
    another node has no writers here, so this rule says nothing of it.

    Stands before `driver_gone`: an exit code says more than a driver that Ray no longer lists.
    """
    writers = () if snapshot.procs is None else tuple(filter(_is_run, snapshot.procs.writers))
    if not writers or any(writer.alive for writer in writers):
        return None
    if _written_since(snapshot, max(writer.gone_at or 0.0 for writer in writers)):
        return None
    last = max(writers, key=lambda writer: (bool(writer.exit_code), writer.gone_at or 0.0))
    if last.exit_code == 0:
        return Verdict(
            word="finished",
            headline=f"The run ended with exit code 0 at {clock(last.gone_at)}.",
            refute="another process goes on writing the log",
            confidence="certain",
            evidence=(Evidence("procs", f"pid {last.pid} {last.name} ended at {clock(last.gone_at)}"),),
        )
    return Verdict(
        word="crashed",
        headline=f"The run's process is gone: pid {last.pid} {last.name} {_how(last)}.",
        refute="a supervisor starts the run again",
        kind="dead_process",
        confidence="likely" if last.exit_code is None else "certain",
        evidence=(
            Evidence("procs", f"pid {last.pid} {last.name} gone since {clock(last.gone_at)}, {_how(last)}"),
            Evidence(
                "log", snapshot.last_output if (error := last_error_line(snapshot)) is None else f"it said: {short(error.text)}"
            ),
        ),
    )


def _written_since(snapshot: Snapshot, gone_at: float) -> bool:
    """Whether the log grew when all of them were seen to be gone: another process writes it, one that was not met yet."""
    return snapshot.log.last_output_at is not None and snapshot.log.last_output_at > gone_at


def _is_run(writer: Writer) -> bool:
    """Whoever wrote a line and left at once (`echo … >> train.log`, a cron job) is not the run."""
    return writer.alive or (writer.gone_at or 0.0) - writer.started_at >= SHORT_LIFE_S


def _how(writer: Writer) -> str:
    return "ended, exit code not known" if writer.exit_code is None else f"ended, {exit_words(writer.exit_code)}"
