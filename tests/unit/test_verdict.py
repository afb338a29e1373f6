"""The verdict from the log and its writers, as a table: silence against the limit of the stage, messages, restarts, blindness."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.logs.finding_order import in_order
from hangtop.records.health import ProbeState, SourceHealth
from hangtop.records.log import Finding, LogFile, LogReading, Pace, Progress, RankLog, StageEvent, StagePlan
from hangtop.records.process import ProcessReading, Writer
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.verdict_labels import verdict_label
from hangtop.render.view import Alarm
from hangtop.state.run_state import RunState

NOW = 10_000.0
SPEC = WatchSpec(logs=("train.log",))
PLAN = (
    StagePlan("dataset", "dataset", slow_after_s=120, stalled_after_s=600),
    StagePlan("train_loop", "training", steady=True),
    StagePlan("finish", "finish"),
)
OOM = Finding("cuda.oom", "fatal", "cause", 500, "CUDA out of memory", rank=4, hang="crash", cause="Too much memory.")


def run(silence_s: float | None, stage: str | None = "train_loop", **log: Any) -> RunState:
    """A run that was silent for `silence_s` in this stage."""
    titles = {plan.id: plan.title for plan in PLAN}
    events = () if stage is None else (StageEvent(stage, titles[stage], "generic", 0, 100, at=NOW - 2_000),)
    reading = LogReading(
        files=(LogFile("train.log", size_bytes=1_000),),
        bytes=1_000,
        plan=PLAN,
        stages=events,
        last_output_at=None if silence_s is None else NOW - silence_s,
    )
    return RunState(log=replace(reading, **log), health={"log": SourceHealth("log", read_at=NOW)}, heard_at=NOW)


PACED = Pace(steps=20, p50_s=50.0, p95_s=60.0, longest_s=70.0)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        pytest.param(run(3), "running", id="fresh output"),
        pytest.param(run(119), "running", id="just under the limit"),
        pytest.param(run(121), "stalled", id="over the limit in a steady stage"),
        pytest.param(run(150, pace=PACED), "running", id="slow steps stretch the limit to 3 x p95"),
        pytest.param(run(190, pace=PACED), "stalled", id="beyond 3 x p95"),
        pytest.param(run(150, pace=replace(PACED, steps=2)), "stalled", id="two steps teach nothing"),
        pytest.param(run(150, stage="dataset"), "slow", id="a stage with a ceiling of its own is slow first"),
        pytest.param(run(601, stage="dataset"), "stalled", id="and stalled beyond its ceiling"),
        pytest.param(run(121, stage=None), "stalled", id="no stage known"),
        pytest.param(run(300, announced_until=NOW + 60), "slow", id="the log announced a wait"),
        pytest.param(run(300, announced_until=NOW - 1), "stalled", id="an announced wait that is over explains nothing"),
        pytest.param(run(5, findings=(OOM,)), "crashed", id="a fatal cause"),
        pytest.param(run(5, findings=(OOM,), attempt=2), "running", id="a crash of an earlier attempt is history"),
        pytest.param(run(5, findings=(replace(OOM, severity="hint"),)), "running", id="a caught exception is a hint"),
        pytest.param(
            run(300, findings=(replace(OOM, id="hw.xid", hang="hang"),)), "stalled", id="a message that hangs, not crashes"
        ),
        pytest.param(run(5, stage="finish"), "finished", id="the finish stage"),
        pytest.param(run(300, stage="finish"), "finished", id="silence after the finish is no stall"),
        pytest.param(run(300, progress=Progress(step=40, total=40)), "finished", id="the last step, then long silence"),
        pytest.param(run(1, progress=Progress(step=40, total=40)), "running", id="the last step, a second ago"),
        pytest.param(run(None, bytes=0), "running", id="nothing written yet"),
    ],
)
def test_the_word(state: RunState, word: str) -> None:
    assert diagnose(state, SPEC, NOW).word == word


def test_a_shorter_stall_limit_scales_the_ceiling_of_a_stage() -> None:
    short = replace(SPEC, stall_s=12.0)
    assert diagnose(run(50, stage="dataset"), short, NOW).word == "slow"
    assert diagnose(run(61, stage="dataset"), short, NOW).word == "stalled"


def test_a_network_file_system_gets_its_slack() -> None:
    files = (LogFile("train.log", network="nfs4", slack_s=60.0),)
    assert diagnose(run(150, files=files), SPEC, NOW).word == "running"
    assert diagnose(run(181, files=files), SPEC, NOW).word == "stalled"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (replace(run(300), heard_at=NOW - 6), "no sign of life since"),
        (replace(run(300), probe=ProbeState(alive=False, problem="the probe was killed by SIGKILL")), "killed by SIGKILL"),
        (replace(run(300), health={"log": SourceHealth("log", problem="train.log: Permission denied")}), "Permission denied"),
        (replace(run(300), health={"log": SourceHealth("log", read_at=1.0, busy_s=12.0)}), "hangs since"),
        (replace(run(300), health={"log": SourceHealth("log", busy_s=32.0)}), "hangs since"),
        (run(None, files=(LogFile("train.log", status="waiting", problem="waiting for train.log"),)), "waiting for train.log"),
    ],
)
def test_a_stall_needs_proof_of_silence(state: RunState, reason: str) -> None:
    verdict = diagnose(state, SPEC, NOW)
    assert verdict.word == "blind"
    assert reason in verdict.headline


def test_the_earliest_cause_is_named_before_its_victims() -> None:
    victim = Finding("nccl.watchdog_timeout", "fatal", "victim", 100, "Watchdog caught a timeout", rank=0, hang="hang-then-crash")
    verdict = diagnose(run(5, findings=in_order((victim, OOM))), SPEC, NOW)
    assert verdict.headline == "Rank 4: CUDA out of memory."
    assert verdict.confidence == "certain"
    assert [culprit.rank for culprit in verdict.culprits] == [4]
    only_victim = diagnose(run(5, findings=(victim,)), SPEC, NOW)
    assert (only_victim.confidence, only_victim.culprits) == ("likely", ())


def test_the_one_rank_that_lost_no_connection_is_who_left_the_others() -> None:
    victim = Finding("dist.gloo_peer_closed", "fatal", "victim", 100, "Connection reset", rank=3, ranks=(0, 1, 3), hang="crash")
    four = {rank: RankLog(rank, step=5) for rank in range(4)}
    told = diagnose(replace(run(5, findings=(victim,)), ranks=four), SPEC, NOW)
    assert [(culprit.rank, culprit.confidence) for culprit in told.culprits] == [(2, "possible")]
    some = replace(victim, ranks=(0, 3))
    assert diagnose(replace(run(5, findings=(some,)), ranks=four), SPEC, NOW).culprits == ()


def laggard_run(silence_s: float) -> RunState:
    ranks = {rank: RankLog(rank, step=20, last_at=NOW - silence_s) for rank in range(8)}
    ranks[5] = RankLog(5, step=11, pid=77, last_at=NOW - silence_s - 60)
    return replace(run(silence_s), ranks=ranks)


def test_a_laggard_is_told_with_the_number_of_its_column_though_its_peers_are_not_all_in_one_step() -> None:
    state = laggard_run(1)
    furthest = {0: RankLog(0, step=25, last_at=NOW - 1)}
    verdict = diagnose(replace(state, ranks=state.ranks | furthest), SPEC, NOW)
    assert verdict.culprits[0].why[0] == "14 steps behind the furthest (step 11)"
    assert (verdict.word, verdict.detail.partition(". ")[0]) == ("running", "Rank 5 behind the others")


def test_the_rank_that_stayed_behind_is_the_culprit_and_no_peer_is() -> None:
    verdict = diagnose(laggard_run(130), SPEC, NOW)
    assert verdict.word == "stalled"
    assert [culprit.rank for culprit in verdict.culprits] == [5]
    assert "9 steps behind" in verdict.culprits[0].why[0]
    assert "Rank 5 stayed behind" in verdict.headline


def test_when_all_ranks_are_alike_none_is_named() -> None:
    ranks = {rank: RankLog(rank, step=20, last_at=NOW - 200) for rank in range(8)}
    verdict = diagnose(replace(run(200), ranks=ranks), SPEC, NOW)
    assert verdict.culprits == ()
    assert verdict.confidence == "possible"


WRITER = Writer(77, 1.0, "python", "python train.py", alive=False, gone_at=NOW - 5)


@pytest.mark.parametrize(
    ("exit_code", "word", "how"),
    [(0, "finished", "exit code 0"), (1, "crashed", "exit code 1"), (-9, "crashed", "SIGKILL"), (None, "crashed", "not known")],
)
def test_the_writer_that_went_tells_how_the_run_ended(exit_code: int | None, word: str, how: str) -> None:
    procs = ProcessReading(writers=(replace(WRITER, exit_code=exit_code),))
    verdict = diagnose(replace(run(5), procs=procs), SPEC, NOW)
    assert verdict.word == word
    assert how in verdict.headline


def test_a_log_without_any_writer_here_is_judged_by_its_silence() -> None:
    assert diagnose(replace(run(5), procs=ProcessReading()), SPEC, NOW).word == "running"


def test_a_log_that_nobody_here_has_open_is_said_to_have_no_writer_before_its_limit() -> None:
    verdict = diagnose(replace(run(30), procs=ProcessReading()), SPEC, NOW)
    assert (verdict.word, verdict.confidence) == ("running", "possible")
    assert verdict.headline.startswith("No process here has the log open")
    elsewhere = (LogFile("train.log", network="nfs4", slack_s=60.0),)
    for unproved in (ProcessReading(hidden=1), ProcessReading(writers=(replace(WRITER, alive=True),))):
        assert diagnose(replace(run(30), procs=unproved), SPEC, NOW).confidence == "likely"
    for files in (elsewhere, (LogFile("-"),)):
        assert diagnose(replace(run(30, files=files), procs=ProcessReading()), SPEC, NOW).confidence == "likely"


NOTE = "no process here is known to write the log; process 7 works in its folder: it may be the run"
LEADS = ProcessReading(leads=(7,), note=NOTE)


def test_a_process_that_only_may_be_the_run_is_no_sign_of_life_and_no_culprit() -> None:
    verdict = diagnose(replace(run(1000), procs=LEADS), SPEC, NOW)
    assert (verdict.word, verdict.confidence, verdict.culprits) == ("stalled", "possible", ())
    assert verdict.headline.endswith(f"in {verdict.stage.title}; {NOTE}." if verdict.stage else "")
    assert "--pid 7" in verdict.refute
    assert [fact.text for fact in verdict.evidence].count(NOTE) == 0, "the headline says it"


def test_a_run_that_may_live_is_not_called_dead() -> None:
    verdict = diagnose(replace(run(1000), procs=LEADS), SPEC, NOW)
    assert verdict.kind != "dead_process"
    assert "the run died" not in verdict.headline
    loading = replace(run(150, stage="dataset"), procs=LEADS)
    assert diagnose(loading, SPEC, NOW).word == diagnose(replace(loading, procs=None), SPEC, NOW).word


def test_a_long_stage_explains_no_silence_of_a_run_that_is_not_here() -> None:
    loading = run(150, stage="dataset")
    gone = diagnose(replace(loading, procs=ProcessReading()), SPEC, NOW)
    assert (gone.word, gone.limit_s, gone.stage and gone.stage.limit_s) == ("stalled", 120.0, 120.0)
    assert gone.evidence[0].text.endswith("limit 2:00")
    assert diagnose(replace(loading, procs=ProcessReading(writers=(replace(WRITER, alive=True),))), SPEC, NOW).word == "slow"


def test_the_evidence_of_a_crash_says_when_and_not_the_headline_again() -> None:
    late = replace(OOM, id="py.traceback", offset=900, text="RuntimeError: stop")
    verdict = diagnose(run(5, findings=(replace(OOM, at=NOW - 60), late)), SPEC, NOW)
    assert verdict.evidence[0].text.startswith("cuda.oom, the earliest cause of 2 errors, came ")
    assert [OOM.text in fact.text for fact in verdict.evidence] == [False, False]
    assert "stop" in verdict.evidence[1].text


def test_who_wrote_a_line_and_left_is_not_the_run() -> None:
    echo = replace(WRITER, started_at=NOW - 5.1, exit_code=0)
    assert diagnose(replace(run(5), procs=ProcessReading(writers=(echo,))), SPEC, NOW).word == "running"


def test_a_pipe_that_was_closed_is_an_end_and_no_blindness() -> None:
    closed = (LogFile("-", status="closed", problem="-: its writer closed the pipe"),)
    verdict = diagnose(run(5, files=closed), SPEC, NOW)
    assert (verdict.word, verdict.confidence) == ("finished", "possible")
    assert diagnose(run(5, files=closed, findings=(OOM,)), SPEC, NOW).word == "crashed"
    assert diagnose(run(1, files=closed, progress=Progress(step=9, total=9)), SPEC, NOW).confidence == "likely"


def test_a_pipe_that_was_closed_without_a_byte_names_no_moment() -> None:
    verdict = diagnose(RunState(log=LogReading(files=(LogFile("-", status="closed"),))), SPEC, NOW)
    assert [each.text for each in verdict.evidence] == ["no output at all"]


def test_one_writer_that_lives_is_enough() -> None:
    procs = ProcessReading(writers=(WRITER, replace(WRITER, pid=78, alive=True)))
    assert diagnose(replace(run(5), procs=procs), SPEC, NOW).word == "running"


def test_the_text_of_a_verdict_stands_still_while_time_passes() -> None:
    early, late = diagnose(run(130), SPEC, NOW), diagnose(replace(run(130), heard_at=NOW + 30), SPEC, NOW + 30)
    assert (early.headline, early.evidence, early.refute) == (late.headline, late.evidence, late.refute)
    assert late.silence_s == 160


def test_a_message_that_means_a_hang_and_is_all_that_comes() -> None:
    text = "No available shared memory broadcast block found in 60 second."
    message = Finding("vllm.shm_broadcast", "hint", "cause", 400, text, hang="slow", count=5, at=NOW - 180, last_offset=990)
    ready = (StageEvent("engine_ready", "ready", "vllm", 0, 300),)
    compiling = (StageEvent("engine_compile", "compile", "vllm", 0, 300),)
    big = (LogFile("train.log", size_bytes=10_000),)
    assert diagnose(run(10, findings=(message,), stages=ready), SPEC, NOW).word == "stalled"
    assert diagnose(run(10, findings=(message,), stages=compiling), SPEC, NOW).word == "running"
    assert diagnose(run(10, findings=(message,), stages=ready, files=big), SPEC, NOW).word == "running"
    assert diagnose(run(10, findings=(replace(message, count=1),), stages=ready), SPEC, NOW).word == "running"


def test_a_rank_left_behind_is_said_before_the_full_limit() -> None:
    early = laggard_run(40)
    assert early.log is not None
    paced = replace(early, log=replace(early.log, pace=Pace(steps=20, p50_s=1.0, p95_s=2.0)))
    assert diagnose(paced, SPEC, NOW).word == "stalled"
    slow_steps = replace(early, log=replace(early.log, pace=PACED))
    assert diagnose(slow_steps, SPEC, NOW).word == "running"


def test_what_dies_while_it_leaves_had_finished_and_what_fails_after_its_finish_had_not() -> None:
    leaving = replace(OOM, id="proc.sigabrt", role="consequence", text="terminate called without an active exception")
    assert diagnose(run(5, stage="finish", findings=(leaving,)), SPEC, NOW).word == "finished"
    assert diagnose(run(5, stage="finish", findings=(OOM,)), SPEC, NOW).word == "crashed"
    assert diagnose(run(5, stage="finish", findings=(replace(OOM, offset=50),)), SPEC, NOW).word == "crashed"


def test_the_last_step_with_nobody_left_to_write_is_the_end() -> None:
    done = run(1, progress=Progress(step=40, total=40))
    assert diagnose(replace(done, procs=ProcessReading()), SPEC, NOW).word == "finished"
    assert diagnose(replace(done, procs=ProcessReading(hidden=2)), SPEC, NOW).word == "running"
    assert diagnose(replace(done, procs=ProcessReading(writers=(replace(WRITER, alive=True),))), SPEC, NOW).word == "running"


def test_a_process_alone_cannot_be_told_to_be_silent() -> None:
    state = RunState(procs=ProcessReading(note="--pid 7: no such process on this machine"), heard_at=NOW)
    verdict = diagnose(state, WatchSpec(pids=(7,)), NOW)
    assert verdict.word == "blind"
    assert verdict.headline.startswith("Cannot see the log: --pid 7: no such process on this machine; none was given")


def test_a_log_that_never_was_read_has_nothing_old_to_show() -> None:
    missing = (LogFile("train.log", status="waiting", problem="train.log: not there yet"),)
    never = diagnose(run(None, files=missing), SPEC, NOW)
    assert (never.evidence, never.detail) == ((), "The run may be well.")
    lost = diagnose(replace(run(300, last_line="step 7"), heard_at=NOW - 6), SPEC, NOW)
    assert "step 7" in lost.evidence[0].text


def test_a_first_look_that_still_loads_on_a_crowded_machine_is_not_blind_for_its_last_lines_are_known() -> None:
    loading = {"log": SourceHealth("log", busy_s=12.0)}
    assert diagnose(replace(run(300), health=loading), SPEC, NOW).word != "blind"
    assert diagnose(replace(run(300), health=loading, log=None), SPEC, NOW).word == "blind"


BEATS = {"news_at": NOW - 300, "clockwork_since": NOW - 300, "repeats": "still waiting, elapsed 300s"}
"""Only heartbeats for five minutes."""


@pytest.mark.parametrize(
    ("state", "word"),
    [
        pytest.param(run(2, pace=replace(PACED, p95_s=1.0), **BEATS), "stalled", id="only heartbeats, for long by its own pace"),
        pytest.param(run(2, pace=replace(PACED, p95_s=200.0), **BEATS), "running", id="steps may take that long"),
        pytest.param(run(2, **BEATS), "running", id="it told no steps: nothing says that this is unusual"),
        pytest.param(
            run(2, pace=replace(PACED, p95_s=1.0), **{**BEATS, "news_at": None}),
            "running",
            id="numbered lines alone prove nothing",
        ),
        pytest.param(run(150, **BEATS), "stalled", id="then no heartbeats either"),
    ],
)
def test_lines_that_tell_nothing_new_are_silence(state: RunState, word: str) -> None:
    assert diagnose(state, SPEC, NOW).word == word


def test_a_verdict_over_heartbeats_says_that_they_come() -> None:
    verdict = diagnose(run(2, pace=replace(PACED, p95_s=1.0), **BEATS), SPEC, NOW)
    assert 'only "still waiting, elapsed 300s"' in verdict.headline
    assert verdict.silence_s == 300


@pytest.mark.parametrize(
    ("state", "quiet", "word", "rings"),
    [
        pytest.param(run(150, stage="dataset"), "overdue", "QUIET", True, id="only the stage explains it: the screen flashes"),
        pytest.param(run(300, announced_until=NOW + 60), "explained", "QUIET", False, id="it said so"),
        pytest.param(run(121), "", "STALLED", True, id="nothing explains it"),
        pytest.param(run(3), "", "RUNNING", False, id="it speaks"),
    ],
)
def test_silence_without_a_sign_of_life_is_never_called_alive(state: RunState, quiet: str, word: str, rings: bool) -> None:
    verdict = diagnose(state, SPEC, NOW)
    assert verdict.quiet == quiet
    assert verdict_label(verdict).word == word
    assert (Alarm().next(verdict, NOW).since is not None) is rings
