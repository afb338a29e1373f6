"""What is said of a run that a person stopped with hangtop, and of its next attempt."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.common.text import clock
from hangtop.diagnosis.judge import diagnose
from hangtop.records.health import SourceHealth
from hangtop.records.log import Finding, LogFile, LogReading, Progress
from hangtop.records.process import ProcessReading, Writer
from hangtop.records.stopped import RunPlace, StoppedRun
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

NOW = 10_000.0
SPEC = WatchSpec(logs=("train.log",))
ENDED = StoppedRun("stop", RunPlace(("train.log",), "training", 13), NOW - 30, 77, 1, NOW - 20, {"train.log": 1_000})
UNDER_WAY = StoppedRun("stop", RunPlace(("train.log",), "training", 13), NOW - 5, 77, 1)
LAST_WORDS = Finding("py.exception", "fatal", "cause", 900, "SignalException: got signal 15", hang="crash")
KILLED = Writer(5, 1.0, "python", "python train.py", alive=False, gone_at=NOW - 21, exit_code=-15)


def run(stop: StoppedRun | None, *, size_bytes: int = 1_000, step: int = 13, last_s: float = 22.0) -> RunState:
    """A run whose processes ended by SIGTERM and cried out at their end."""
    log = LogReading(
        files=(LogFile("train.log", size_bytes=size_bytes),),
        bytes=size_bytes,
        last_output_at=NOW - last_s,
        findings=(LAST_WORDS,) if size_bytes == 1_000 else (),
        progress=Progress(step=step, total=40),
        stopped=stop,
    )
    return RunState(
        log=log,
        procs=ProcessReading(writers=(KILLED,)),
        health={"log": SourceHealth("log", read_at=NOW)},
        heard_at=NOW,
    )


def test_a_run_that_nobody_stopped_has_crashed() -> None:
    assert diagnose(run(None), SPEC, NOW).word == "crashed"


def test_a_run_that_a_person_stopped_says_who_and_when_and_where_it_stood() -> None:
    verdict = diagnose(run(ENDED), SPEC, NOW)
    assert (verdict.word, verdict.confidence) == ("finished", "certain")
    assert verdict.headline == f"Stopped by you at {clock(NOW - 30)} in training at step 13."
    assert not verdict.culprits


def test_a_run_that_was_asked_to_end_through_its_guard_says_so() -> None:
    verdict = diagnose(run(replace(ENDED, action="guard", signal="SIGTERM")), SPEC, NOW)
    assert verdict.word == "finished"
    assert verdict.headline == f"Ended on request (SIGTERM) at {clock(NOW - 30)} in training at step 13."
    verdict = diagnose(run(replace(UNDER_WAY, action="guard", signal="SIGTERM")), SPEC, NOW)
    assert verdict.word == "waiting"
    assert verdict.headline.startswith(f"Asked to end (SIGTERM) since {clock(NOW - 5)}")


def test_a_run_that_its_guard_stopped_was_not_stopped_by_you() -> None:
    verdict = diagnose(run(replace(ENDED, by_guard=True)), SPEC, NOW)
    assert verdict.headline == f"Stopped by its guard at {clock(NOW - 30)} in training at step 13."
    assert diagnose(run(replace(UNDER_WAY, by_guard=True)), SPEC, NOW).headline.startswith("Its guard has been stopping this run")


def test_while_it_is_being_stopped_its_cries_are_no_crash() -> None:
    verdict = diagnose(run(UNDER_WAY), SPEC, NOW)
    assert verdict.word == "waiting"
    assert f"stopping this run since {clock(NOW - 5)}" in verdict.headline


def test_a_run_that_was_started_again_may_stand_after_as_many_bytes() -> None:
    again = Writer(9, NOW - 15, "python", "python train.py")
    state = run(ENDED, last_s=12.0)
    assert diagnose(replace(state, procs=ProcessReading(writers=(again,))), SPEC, NOW).word != "finished"
    assert state.log is not None
    later = replace(state.log, files=(replace(state.log.files[0], modified_at=NOW + 40),))
    assert diagnose(replace(state, log=later), SPEC, NOW + 50).word != "finished"
    beside = replace(state.log, files=(replace(state.log.files[0], modified_at=NOW - 15),))
    assert diagnose(replace(state, log=beside), SPEC, NOW).word == "finished", "the clock of a file server"


def test_what_was_written_after_the_stop_is_another_attempts() -> None:
    verdict = diagnose(run(ENDED, size_bytes=2_000, last_s=1.0), SPEC, NOW)
    assert verdict.word == "running"


def test_the_next_attempt_tells_whether_it_is_past_the_place() -> None:
    before = diagnose(run(ENDED, size_bytes=2_000, step=13, last_s=1.0), SPEC, NOW)
    after = diagnose(run(ENDED, size_bytes=2_000, step=14, last_s=1.0), SPEC, NOW)
    assert "not yet past step 13" in before.evidence[0].text
    assert "has passed step 13" in after.evidence[0].text


def test_a_log_of_the_run_that_was_not_there_at_the_stop_is_another_attempts() -> None:
    state = run(ENDED)
    assert state.log is not None
    new = LogFile("rank_8.log", size_bytes=10)
    state = RunState(
        log=LogReading(files=(*state.log.files, new), last_output_at=NOW - 1, stopped=ENDED), health=state.health, heard_at=NOW
    )
    assert diagnose(state, SPEC, NOW).word == "running"


def test_a_log_that_grew_after_its_writers_were_gone_has_another_writer() -> None:
    assert diagnose(run(None, size_bytes=2_000, last_s=1.0), SPEC, NOW).word == "running"
