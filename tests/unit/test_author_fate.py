"""A message is not a death: what is said of an error while its writer lives, and once it is gone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.health import SourceHealth
from hangtop.records.log import Finding, LogFile, LogLine, LogReading, Pace, Progress, WrittenAt
from hangtop.records.nodes import on_node, source_of
from hangtop.records.process import Process, ProcessReading, RayTie, Writer
from hangtop.records.verdict import Verdict
from hangtop.state.run_state import RunState
from tests.fakes.members import LOCK
from tests.fakes.members import run as run_of_ranks
from tests.unit.test_verdict import NOW, OOM, SPEC, run

SAID = replace(OOM, rank=None, at=NOW - 60, written=WrittenAt(NOW - 60, NOW - 60, NOW - 60))
TRAIN = Process(77, NOW - 900, 9, 1, "python", "python train.py", "S", role="other", wrote_bytes=4_000)
SHELL = Process(70, NOW - 901, 8, 1, "bash", "bash run.sh", "S", role="other", wrote_bytes=0)
KEEPER = Process(78, NOW - 59, 99, 70, "sleep", "sleep infinity", "S", role="other", wrote_bytes=0)
ALIVE = Writer(77, NOW - 900, "python", "python train.py")


def said_of(*processes: Process, finding: Finding = SAID, silence_s: float = 2.0, **procs: object) -> Verdict:
    reading = ProcessReading(writers=(ALIVE,), processes=processes)
    state = replace(run(silence_s, findings=(finding,)), procs=replace(reading, **procs))
    return diagnose(state, SPEC, NOW)


def test_an_error_whose_writer_lives_and_writes_on_is_reported() -> None:
    told = said_of(TRAIN, finding=replace(SAID, count=12))
    assert (told.word, told.headline) == ("running", "Starting: 12 errors reported, the run goes on.")
    assert any(OOM.text in fact.text for fact in told.evidence)


def test_who_wrote_the_error_is_gone_and_only_what_keeps_the_container_is_left() -> None:
    assert said_of(SHELL, KEEPER, silence_s=60.0).word == "crashed"
    unread = replace(TRAIN, wrote_bytes=None)
    assert said_of(SHELL, unread).word == "running", "what could not be counted may have written it"


def test_what_was_started_again_after_the_error_and_writes_is_a_run() -> None:
    again = replace(TRAIN, pid=79, started_at=NOW - 50)
    assert said_of(SHELL, again).word == "running"
    assert said_of(SHELL, replace(again, wrote_bytes=0), silence_s=60.0).word == "crashed"


@pytest.mark.parametrize(("pid", "word"), [(77, "running"), (4242, "crashed")])
def test_a_message_that_names_a_process_tells_of_that_one(pid: int, word: str) -> None:
    named = replace(SAID, text=f"run.sh: line 3: {pid} Killed    python worker.py")
    assert said_of(SHELL, TRAIN, finding=named).word == word


def test_a_pid_in_a_message_may_be_of_each_of_the_named_nodes() -> None:
    there = replace(TRAIN, pid=on_node(1, 4242), ppid=on_node(1, 1))
    named = replace(SAID, text="run.sh: line 3: 4242 Killed    python worker.py")
    assert said_of(SHELL, TRAIN, there, finding=named).word == "running"


def test_what_is_missing_while_a_named_node_cannot_be_seen_may_be_there() -> None:
    spec = replace(SPEC, hosts=("n1", "n2"))
    seen = {source_of("n1"): SourceHealth(source_of("n1"), read_at=NOW)}
    told = {True: seen | {source_of("n2"): SourceHealth(source_of("n2"), read_at=NOW)}, False: seen}
    rank = replace(TRAIN, role="rank", world=12)
    here = [replace(rank, pid=100 + number, rank=number) for number in range(4)]
    there = [replace(rank, pid=on_node(1, 100 + number), rank=number) for number in (8, 10, 11)]
    named = replace(SAID, text="run.sh: line 3: 4242 Killed    python worker.py")
    for finding in (SAID, named):
        for answers, word in ((False, "running"), (True, "crashed")):
            state = replace(run(2.0, findings=(finding,)), health=told[answers])
            procs = ProcessReading(writers=(ALIVE,), processes=(*here, *there))
            assert diagnose(replace(state, procs=procs), spec, NOW).word == word, (finding.text, answers)


def test_a_helper_that_died_ends_nothing_while_the_one_that_tells_of_it_lives() -> None:
    """A data worker was killed, and the trainer, which lives, may build its loader anew."""
    loader = replace(SAID, text="RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed.")
    assert said_of(SHELL, TRAIN, finding=loader).word == "running"
    assert said_of(SHELL, KEEPER, finding=loader, silence_s=60.0).word == "crashed"
    ranks = [replace(TRAIN, pid=100 + rank, role="rank", rank=rank, world=4) for rank in (0, 1, 3)]
    assert said_of(*ranks, finding=loader).word == "crashed", "a rank is missing: it may be the one"


def test_a_rank_that_died_beside_peers_that_live_is_a_crash_and_one_that_lives_is_none() -> None:
    ranks = [replace(TRAIN, pid=100 + rank, role="rank", rank=rank, world=4) for rank in range(4)]
    of_two = replace(SAID, rank=2)
    assert said_of(*ranks, finding=of_two).word == "running"
    assert said_of(*(ranks[:2] + ranks[3:]), finding=of_two).word == "crashed"
    ended = replace(ranks[2], state="X", exit_code=1)
    assert said_of(*(ranks[:2] + ranks[3:]), finding=of_two, ended=(ended,)).word == "crashed"


@pytest.mark.parametrize(
    ("held", "modified_at", "word"),
    [
        pytest.param(("logs/rank0.log",), NOW - 60, "crashed", id="its peers hold their logs open, and nobody that one"),
        pytest.param(("logs/rank0.log", "logs/rank2.log"), NOW - 60, "hung", id="somebody has it open"),
        pytest.param((), NOW - 60, "hung", id="each opens its log anew for a line"),
        pytest.param(("logs/rank0.log",), NOW - 5_000, "hung", id="a log of before"),
    ],
)
def test_a_message_in_a_log_that_its_writer_has_left_is_a_death(held: tuple[str, ...], modified_at: float, word: str) -> None:
    """Ranks started by hand, a log each; those that are left wait."""
    files = tuple(LogFile(f"logs/rank{rank}.log", size_bytes=90, modified_at=modified_at, rank=rank) for rank in (0, 2))
    writers = (replace(ALIVE, paths=tuple(f"/home/me/{path}" for path in held)),)
    reading = ProcessReading(writers=writers, processes=(TRAIN,), began_at=NOW - 900)
    lost = replace(SAID, rank=2, file=1)
    state = replace(run(60.0, findings=(lost,)), procs=reading)
    assert state.log is not None
    looks = run_of_ranks({0: LOCK}, (replace(TRAIN, pid=100, start_ticks=7),)).looks
    stack = tuple(replace(each, pid=77, started_ticks=9, at=NOW) for each in looks[-1].stacks)
    looks = tuple(replace(look, stacks=stack) for look in looks)
    said = diagnose(replace(state, log=replace(state.log, files=files), looks=looks), replace(SPEC, stall_s=30.0), NOW)
    assert (said.word, [culprit.rank for culprit in said.culprits]) == (word, [2] if word == "crashed" else [None])


def test_a_loss_that_ray_tells_is_no_crash_while_the_driver_lives_to_which_it_would_be_raised() -> None:
    driver = replace(TRAIN, role="launcher")
    actors = [replace(TRAIN, pid=pid, started_at=began, role="ray worker") for pid, began in ((80, NOW - 800), (81, NOW - 40))]
    lost = replace(SAID, id="ray.worker_died", text="raylet: line 3: 82 Killed  ray::Worker", pid=82)
    ended = (replace(actors[0], pid=82, state="X", exit_code=1),)
    tie = RayTie("drives", "/tmp/ray/session_x", 77, NOW - 900, 9, "python", "01")
    assert said_of(driver, *actors, finding=lost, ended=ended, ray=(tie,)).word == "running"
    assert said_of(*actors, finding=lost, ended=ended, ray=(replace(tie, gone=True),)).word == "crashed"


def test_a_death_that_names_its_rank_is_past_once_that_rank_lives_as_another_process() -> None:
    """torchrun starts all ranks again, and these say nothing while they read their snapshot."""
    ranks = [replace(TRAIN, pid=100 + rank, started_at=NOW - 61, role="rank", rank=rank, wrote_bytes=0) for rank in range(2)]
    named = replace(SAID, rank=1, text="failed (exitcode: -9) local_rank: 1 (pid: 88) of binary: python")
    assert said_of(*ranks, finding=named, silence_s=60.0).word == "running"
    assert said_of(ranks[0], finding=named, silence_s=60.0).word == "crashed", "it was not started again"


def test_nothing_is_certain_within_seconds_of_the_message_while_processes_live() -> None:
    assert said_of(SHELL, KEEPER, silence_s=3.0).confidence == "likely"
    assert said_of(SHELL, KEEPER, silence_s=30.0).confidence == "certain"


def test_a_program_that_ended_with_0_had_caught_its_errors_and_a_shell_that_did_tells_nothing() -> None:
    ended = replace(ALIVE, alive=False, gone_at=NOW - 1, exit_code=0)
    assert said_of(writers=(ended,)).word == "finished"
    assert said_of(writers=(replace(ended, name="bash"),)).word == "crashed"


@pytest.mark.parametrize(
    ("code", "word"), [(1, "crashed"), (-11, "crashed"), (-15, "finished"), (0, "finished"), (None, "finished")]
)
def test_an_exit_with_an_error_after_the_finish_counts_and_a_signal_from_outside_does_not(code: int | None, word: str) -> None:
    ended = replace(ALIVE, alive=False, gone_at=NOW - 5, exit_code=code)
    state = replace(run(5, stage="finish"), procs=ProcessReading(writers=(ended,)))
    assert diagnose(state, SPEC, NOW).word == word


def ended_with(*texts: str, silence_s: float = 30.0, procs: ProcessReading | None = None, **log: object) -> Verdict:
    """Nobody writes the log any more; these are its last lines."""
    tail = tuple(LogLine(0, 10 * place, None, None, "", text) for place, text in enumerate(texts))
    state: RunState = run(silence_s, **log)  # type: ignore[arg-type]
    return diagnose(replace(state, tail=tail, procs=procs or ProcessReading()), SPEC, NOW)


@pytest.mark.parametrize(
    "text",
    [
        "WorkerLostError: peer 3 is not there any more",
        "my.pkg.OddException",
        "check failed at src/loop.cc:119",
        "run.sh: line 7: 4242 Bus error               python train.py",
        "Segmentation fault",
        "zsh: killed     python train.py",
        "child 2 exited with code 137",
        "UserWarning: resource_tracker: There appear to be 12 leaked semaphore objects to clean up at shutdown",
    ],
)
def test_last_words_that_tell_of_a_death_are_a_crash_once_nobody_writes(text: str) -> None:
    assert ended_with("loading", text).word == "crashed"
    assert ended_with("loading", text, procs=ProcessReading(hidden=1)).word == "running", "somebody may write it unseen"
    assert ended_with(text, *("more" for _ in range(8))).word == "running", "it was not the last that was said"


@pytest.mark.parametrize(
    "text",
    ["exited with code 0", "no errors; failed: 0", "trainers returned [0, 0]", "ValueError: skipped, retrying", "error rate 0.3"],
)
def test_other_last_words_are_no_death(text: str) -> None:
    assert ended_with("loading", text).word != "crashed"


@pytest.mark.parametrize("text", ["22 of 30 files sent, the rest could not be sent (code 23)", "gave up after 4 tries"])
def test_without_steps_a_last_line_that_gives_up_is_a_possible_crash(text: str) -> None:
    ended = ended_with("sending 30 files", text)
    assert (ended.word, ended.confidence) == ("crashed", "possible")
    assert ended_with(text, "going on").word == "running"
    assert ended_with("sending 30 files", text, longest_silence_s=60.0).word == "running", "it has rested so long before"


@pytest.mark.parametrize(
    "text",
    [
        "Early stopping",
        "Stopping training early.",
        "Solved! Running reward is now 195.2",
        "target accuracy reached: 0.95",
        "All done in 2.4s",
        "Saved final model to out/m.pt",
        "workers returned [0, 0]",
        "all exited with code 0",
        '{"ts": 17.5, "event": "end", "status": "success"}',
    ],
)
def test_last_words_that_tell_of_an_end_are_a_finish_once_nobody_writes(text: str) -> None:
    assert ended_with("loading", text).word == "finished"
    alive = ProcessReading(writers=(ALIVE,), processes=(TRAIN,))
    assert ended_with("loading", text, procs=alive).word == "running"


def test_an_error_behind_the_last_step_is_outlived_by_the_good_end_that_a_shell_tells_behind_it() -> None:
    error = "ConnectionRefusedError: [Errno 111] Connection refused"
    raised = Finding("py.traceback", "fatal", "cause", 0, error, hang="crash", last_offset=10)
    all_steps = Progress(step=10, total=10)
    tail = ("Traceback (most recent call last):", error, "recipe done in 11s")
    assert ended_with(*tail, findings=(raised,), progress=all_steps).word == "finished"
    assert ended_with(*tail, progress=all_steps).word == "finished", "no signature knew it"
    assert ended_with(*tail, findings=(raised,), progress=replace(all_steps, total=20)).word == "crashed", "it was not done"
    assert ended_with(*tail, findings=(raised,)).word == "crashed", "nothing tells how far it had to go"
    later = replace(raised, last_offset=30)
    assert ended_with(*tail[:2], tail[2], error, findings=(later,), progress=all_steps).word == "crashed", "the error came last"


@pytest.mark.parametrize(
    ("marks", "plain"),
    [
        (
            ("✓ Rollout Worker initialized in 30.5s", "✓ Weight synchronization completed in 5.2s", "Starting training loop..."),
            "",
        ),
        (("finished update_engine_weights",), ""),
        (("[ROLLOUT] init_model START",), "✓ Dataset generation completed in 20.1s"),
    ],
)
def test_the_end_of_a_part_is_no_end_of_the_run(marks: tuple[str, ...], plain: str) -> None:
    """Lines that mark stages end parts; what stands above one was followed by another part."""
    first = [LogLine(0, 1, None, None, "", plain)] if plain else []
    tail = (*first, *(LogLine(0, 10 + place, None, None, "", text, "stage") for place, text in enumerate(marks)))
    verdict = diagnose(replace(run(30), tail=tail, procs=ProcessReading()), SPEC, NOW)
    assert verdict.word != "finished"


@pytest.mark.parametrize(
    ("later", "word"),
    [
        ("Building the model", "running"),
        ("2026-01-11 10:00:35 INFO main - Moving it", "running"),
        ("Saving the log", "finished"),
        ("Cleaning up", "finished"),
    ],
)
def test_a_step_that_is_begun_later_is_no_end_and_what_is_done_when_one_leaves_is_none(later: str, word: str) -> None:
    assert ended_with("Tokenizing finished in 20.1s", later).word == word


def test_an_end_in_the_middle_of_a_known_course_is_none_but_an_early_stop_is() -> None:
    reading: LogReading | None = run(30).log
    assert reading is not None
    half = replace(reading.progress, step=40, total=100)
    assert ended_with("Saved final model", progress=half).word != "finished"
    assert ended_with("EarlyStopping: no improvement", progress=half).word == "finished"


@pytest.mark.parametrize(
    ("text", "is_end"),
    [
        ("Time limit reached. Elapsed time is 0:10:00.", True),
        ("the time is up after step 40; exit", True),
        ("slurmstepd: error: *** JOB 7 CANCELLED AT 10:00 DUE TO TIME LIMIT ***", False),
        ("step 40 took 3 times over", False),
        ("a step is reached each time", False),
        ("No improvement for 3 evaluations, stopping.", True),
        ("val loss did not improve in 5 checks: stop", True),
        ("Patience of 3 exceeded", True),
        ("val_acc 0.94 >= 0.93: aborting the remaining 33 epochs", True),
        ("Training stopped.", True),
        ("training stopped by an error in the loader", False),
        ("loss did not improve", False),
    ],
)
def test_a_run_that_was_given_a_time_ends_when_it_is_over(text: str, is_end: bool) -> None:
    reading: LogReading | None = run(30).log
    assert reading is not None
    half = replace(reading.progress, step=40, total=100)
    assert (ended_with("step 40", text, progress=half).word == "finished") is is_end


def test_a_log_that_nobody_writes_any_more_and_that_ends_before_its_last_step_without_a_word_tells_of_a_crash() -> None:
    reading: LogReading | None = run(30).log
    assert reading is not None
    half = replace(reading.progress, step=40, total=100)
    said = ended_with("loss 0.3", progress=half)
    assert (said.word, said.confidence, said.culprits) == ("crashed", "possible", ())
    assert said.headline == "Nobody here writes the log any more; it ends at step 40 of 100, without a word."
    slow_steps = replace(
        run(30), log=replace(reading, progress=half, pace=Pace(steps=20, p50_s=3.0, p95_s=4.0)), procs=ProcessReading()
    )
    assert diagnose(slow_steps, SPEC, NOW).word != "crashed", "it may open its log anew for each of its steps"
    assert ended_with("loss 0.3", progress=replace(half, step=99)).word != "crashed", "steps are counted from 0"
    assert ended_with("loss 0.3", progress=replace(half, partial=True)).word != "crashed", "that of an epoch"
    counted = (LogLine(0, 90, None, None, "", "step 99/100 loss 0.3", "progress"),)
    from_0 = replace(run(30), log=replace(reading, progress=replace(half, step=99)), tail=counted, procs=ProcessReading())
    assert diagnose(from_0, SPEC, NOW).word == "finished", "its last line is that of its last step"
    assert ended_with("Saved final model", progress=half).word != "crashed"
    open_end = replace(reading.progress, step=40, total=None)
    assert ended_with("loss 0.3", progress=open_end).word != "crashed", "it went on behind its last step"
    stepped = (LogLine(0, 90, None, None, "", "step 40 loss 0.3", "progress"),)
    state = replace(run(30), log=replace(reading, progress=open_end), tail=stepped, procs=ProcessReading())
    assert diagnose(state, SPEC, NOW).headline == "Nobody here writes the log any more; it ends at step 40, without a word."
    assert ended_with("epoch", "step 38 loss 0.5", "step 39 loss 0.4", "step 40 loss 0.3", progress=open_end).word == "crashed", (
        "no profile knows its steps, and the last line is one in the words of others, with its number"
    )
    assert ended_with("weights.npy written, acc 0.94", progress=half).word != "crashed", "what a run leaves"
    assert ended_with("loss 0.3", progress=half, procs=ProcessReading(leads=(7,))).word != "crashed", "it may write the log"
    assert ended_with("loss 0.3", progress=half, procs=ProcessReading(hidden=3)).word != "crashed"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("loss below tolerance, nothing more to learn", "finished"),
        ("Fertig. Modell liegt in out.pt", "finished"),
        ("Elapsed 4.5 s, 0 errors, no failures", "finished"),
        ("loss is not finite, giving up", "crashed"),
        ("!! cannot reach the license server (tried 3 times)", "crashed"),
        ("终止：梯度异常", "crashed"),
    ],
)
def test_of_last_words_that_no_rule_knows_a_complaint_tells_of_a_crash_and_anything_else_of_an_end(text: str, word: str) -> None:
    told = ended_with("step 40 loss 0.3", text, progress=Progress(step=40))
    assert (told.word, told.confidence) == (word, "possible")
    assert ended_with("step 40 loss 0.3", text, progress=Progress(step=40), procs=ProcessReading(hidden=1)).word != word
    begins = ended_with("step 40 loss 0.3", text, "Evaluating on the whole test set", progress=Progress(step=40))
    assert begins.word not in ("finished", "crashed"), "it may open its log anew for each line, and be at it"


def test_errors_above_a_last_line_that_tells_of_code_0_ended_nothing() -> None:
    rejects = ("notes/1.eml: error", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9")
    raised = Finding("py.traceback", "fatal", "cause", 0, rejects[1], hang="crash", last_offset=10)
    assert ended_with(*rejects, "import: exit status 0").word == "finished"
    assert ended_with(*rejects, "import: exit status 0", findings=(raised,)).word == "finished"
    assert ended_with(*rejects, "import: exit status 4").word == "crashed"
    half = Progress(step=4, total=10)
    assert ended_with(*rejects, "wrapper: exit status 0", progress=half).word == "crashed", "its steps were not counted out"


@pytest.mark.parametrize("text", ["job ended with status 139", "[watchdog] trainer gone (rc=137)", "worker 2 died: exit code 1"])
def test_a_code_in_the_last_line_tells_of_a_death_whoever_says_it(text: str) -> None:
    assert ended_with("loss 0.3", text).word == "crashed"
    assert ended_with("loss 0.3", "job ended with status 0").word != "crashed"


def test_how_the_writers_of_an_earlier_attempt_ended_says_nothing_of_the_one_that_ended_last() -> None:
    first = replace(ALIVE, pid=60, alive=False, started_at=NOW - 900, gone_at=NOW - 500, exit_code=1)
    last = replace(ALIVE, alive=False, started_at=NOW - 400, gone_at=NOW - 1, exit_code=0)
    procs = ProcessReading(writers=(first, last), began_at=NOW - 400)
    assert diagnose(replace(run(5), procs=procs), SPEC, NOW).word == "finished"
    assert diagnose(replace(run(5), procs=replace(procs, began_at=None)), SPEC, NOW).word == "crashed"


def test_an_earlier_attempts_last_output_is_no_silence_of_a_process_that_began_since() -> None:
    procs = ProcessReading(writers=(ALIVE,), processes=(TRAIN,), began_at=NOW - 5)
    assert diagnose(replace(run(9_000), procs=procs), SPEC, NOW).silence_s == 5.0
    ended = replace(procs, writers=(replace(ALIVE, alive=False, gone_at=NOW - 1),))
    assert diagnose(replace(run(9_000), procs=ended), SPEC, NOW).silence_s == 9_000.0


@pytest.mark.parametrize(
    ("left_s", "behind", "alive", "word"),
    [
        (40.0, "fetch failed, next try in 55 s", True, "slow"),
        (-1.0, "fetch failed, next try in 55 s", True, "crashed"),
        (40.0, "", True, "crashed"),
        (40.0, "fetch failed, next try in 55 s", False, "crashed"),
    ],
)
def test_who_started_what_died_and_said_since_how_long_it_waits_goes_on(
    left_s: float, behind: str, alive: bool, word: str
) -> None:
    shell = Writer(70, NOW - 901, "bash", "bash run.sh", alive=alive, gone_at=None if alive else NOW - 5)
    tail = tuple(
        LogLine(0, SAID.last_offset + place, None, None, "", text, "plain") for place, text in ((0, SAID.text), (40, behind))
    )
    state = run(130.0, findings=(SAID,), announced_until=NOW + left_s)
    known = replace(state, tail=tail, procs=ProcessReading(writers=(shell,), processes=(SHELL, KEEPER) if alive else ()))
    assert diagnose(known, SPEC, NOW).word == word


LOOP = tuple(
    LogLine(0, 300 + 9 * place, None, None, "", text)
    for place, text in enumerate(
        (
            "train: pid 77, 19998 words",
            "Traceback (most recent call last):",
            '  File "/home/me/train.py", line 26, in <module>',
            "    table[negatives] -= 1",
            OOM.text,
        )
    )
)
ORPHAN = Process(78, NOW - 899, 99, 1, "python", "python sampler.py", "S", role="other", wrote_bytes=15)


def left(*processes: Process, tail: tuple[LogLine, ...] = LOOP, silence_s: float = 60.0) -> Verdict:
    """What began before the error and wrote a line of its own is left."""
    raised = replace(SAID, offset=LOOP[-1].offset, last_offset=LOOP[-1].offset)
    writer = replace(ALIVE, pid=78, command="python sampler.py")
    state = replace(run(silence_s, findings=(raised,)), procs=ProcessReading(writers=(writer,), processes=processes), tail=tail)
    looks = run_of_ranks({0: LOCK}, (replace(TRAIN, pid=100, start_ticks=7),)).looks
    stack = tuple(replace(each, pid=78, started_ticks=99, at=NOW) for each in looks[-1].stacks)
    return diagnose(replace(state, looks=tuple(replace(look, stacks=stack) for look in looks)), replace(SPEC, stall_s=30.0), NOW)


def test_a_script_that_nobody_runs_any_more_may_have_been_started_by_one_that_caught_its_error() -> None:
    """A driver that starts each trial as a program of its own lives on, under whatever name, and whoever its parent is."""
    assert left(SHELL, ORPHAN).word == "hung"


def test_the_one_process_that_was_named_and_is_gone_may_be_the_one_that_died() -> None:
    verdict = left(SHELL, replace(ORPHAN, wrote_bytes=0))
    assert (verdict.word, [(each.pid, each.confidence) for each in verdict.culprits]) == ("crashed", [(77, "possible")])
