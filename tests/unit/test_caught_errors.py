"""Tracebacks of a run that is over: which of them ended it, and which it had caught, or the interpreter ignored."""

from __future__ import annotations

import pytest

from hangtop.diagnosis.facts.caught_errors import caught, without_ignored
from hangtop.diagnosis.judge import diagnose
from hangtop.logs.digest import Digest
from hangtop.logs.joined_logs import join_logs
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile
from hangtop.records.process import ProcessReading
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from tests.fakes.read_log import INDEX

NOW = 1_800_000_000.0


def raised(what: str, rank: str = "") -> str:
    frames = '  File "/home/me/sweep.py", line 12, in trial\n    return fit(rate)\n           ^^^^^^^^^\n'
    text = f"Traceback (most recent call last):\n{frames}FloatingPointError: {what}\n"
    return "".join(f"{rank}{line}\n" for line in text.splitlines())


SWEEP = "".join(f"rate {number} diverges\n{raised(f'diverged at {number}')}\n" for number in (3, 4, 5))
REPORT = "best rate 2, written to best.txt\n"
IGNORED = f"Exception ignored in: <function Spool.__del__ at 0x7f01>\n{raised('closed').replace('FloatingPoint', 'Value')}"


def over(text: str, silence_s: float = 30.0) -> Verdict:
    """Of a log that is proven to have no writer left."""
    return diagnose(state_of(text, silence_s), WatchSpec(logs=("train.log",)), NOW)


def state_of(text: str, silence_s: float = 30.0) -> RunState:
    digest = Digest(INDEX, 0)
    digest.feed(text.encode())
    file = LogFile("train.log", size_bytes=digest.bytes, scanned_bytes=digest.bytes, modified_at=NOW - silence_s)
    tail = digest.tail(200)
    log = join_logs([digest.facts()], [file], INDEX.catalog, last_output_at=NOW - silence_s, tail=tail)
    health = {source: SourceHealth(source, read_at=NOW) for source in ("log", "procs")}
    return RunState(log=log, tail=tail, health=health, procs=ProcessReading(sought=True), heard_at=NOW)


@pytest.mark.parametrize("behind", ["", IGNORED])
def test_a_run_that_had_caught_its_errors_and_ends_with_a_report_finished(behind: str) -> None:
    assert over(SWEEP + REPORT + behind).word == "finished"


@pytest.mark.parametrize(
    "text",
    [
        SWEEP,
        SWEEP + IGNORED,
        REPORT + SWEEP,
        SWEEP + "logs written to /var/log/sweep\n",
        SWEEP + "emergency checkpoint saved to last.pt\n",
        SWEEP + REPORT + raised("at last"),
        raised("alone") + REPORT,
        raised("one", "[rank0]: ") + raised("two", "[rank1]: ") + REPORT,
    ],
    ids=range(8),
)
def test_an_error_with_nothing_behind_it_or_what_a_death_leaves_was_the_end(text: str) -> None:
    assert over(text).word == "crashed"


def test_an_error_that_a_loop_caught_and_printed_is_no_end_when_a_report_follows_it() -> None:
    trials = f"trial 1/4 loss 0.4\ntrial 2/4 failed\n{raised('one')}trial 3/4 loss 0.2\ntrial 4/4 failed\n"
    report = "rate  loss  status\n4 trials, 2 failed\n"
    assert over(trials + raised("two") + report).word == "finished"
    nobody_caught = raised("two").replace("in trial", "in <module>")
    assert over(trials + nobody_caught + report).word == "crashed"
    chained = f"{raised('two')}\nDuring handling of the above exception, another exception occurred:\n\n"
    assert over(trials + chained + nobody_caught + report).word == "crashed"
    assert over(trials + chained + raised("three") + report).word == "crashed"


def test_a_single_error_after_all_steps_is_outlived_by_a_report() -> None:
    steps = "".join(f"step {step}/40 loss=1.{step}\n" for step in range(1, 41))
    assert over(steps + raised("evaluation") + "model saved to out/model.pt\n").word == "finished"
    assert over(steps + raised("evaluation")).word == "crashed"


def test_what_the_interpreter_ignores_is_no_last_word_of_a_death() -> None:
    steps = "".join(f"step {step}/40 loss=1.{step}\n" for step in range(1, 41))
    assert over(steps + IGNORED).word == "finished"
    assert [line.text for line in without_ignored(state_of(IGNORED + REPORT).tail)] == [REPORT.strip()]


def test_nothing_is_said_of_a_crash_in_the_moment_before_it_is_known_that_nobody_writes_anew() -> None:
    assert over(SWEEP + REPORT, 1.0).word == "running"


def test_an_error_is_caught_where_the_same_rank_writes_on_behind_it() -> None:
    assert caught(state_of(SWEEP + REPORT).tail) == 2  # behind the third stands a line of another form: it may be of its message
    assert caught(state_of(raised("one", "[rank0]: ") + raised("two", "[rank1]: ")).tail) == 0
    chained = raised("one") + "\nDuring handling of the above exception, another exception occurred:\n\n" + raised("two")
    assert caught(state_of(chained).tail) == 0
    several = raised("device-side assert triggered") + "\nCUDA kernel errors might be reported at another call.\n"
    of_lines = several + "\nDuring handling of the above exception, another exception occurred:\n\n" + several
    assert caught(state_of(of_lines).tail) == 0


def test_numbers_that_are_set_in_columns_make_no_other_form() -> None:
    told = "task  5 score 0.123\n" + raised("one") + "\ntask 12 score 0.456\n" + raised("two") + "\ntask  7 score 0.9\n"
    assert caught(state_of(told).tail) == 2


def test_of_an_error_without_a_rank_the_writer_may_be_any() -> None:
    told = "[rank0]: task 1 done\n" + raised("one") + "\n[rank0]: task 2 done\n" + raised("two") + "\nnothing like it\n"
    assert caught(state_of(told).tail) == 1


def test_what_one_rank_ignores_hides_no_error_of_another() -> None:
    lines = "[rank3]: Exception ignored in: <function f at 0x7f>\n[rank0]: RuntimeError: real death\n"
    kept = without_ignored(state_of(lines).tail)
    assert [line.text for line in kept] == ["RuntimeError: real death"]


STEPS = "".join(f"{number}00 ms INFO epoch {number} mse 0.{90 - number}\n" for number in range(12))
KEPT = "9000 ms INFO best is epoch 11 (0.79), kept in best.pt\n"
FRAMES = 'Traceback (most recent call last):\n  File "train.py", line 42, in main\n    tell()\n'
LOGGED = f"9100 ms ERROR the chat could not be told\n{FRAMES}"
REFUSED = "ConnectionRefusedError: [Errno 111] Connection refused\n"


def test_an_error_of_what_python_runs_at_its_exit_is_none_of_the_program() -> None:
    assert over(STEPS + "training complete\n" + "Error in atexit._run_exitfuncs:\n" + raised("closed")).word == "finished"


@pytest.mark.parametrize("stamp", ["{}00 ms ", "09:41:{:02d} ", "2026-11-28 09:41:{:02d},101 - train - "])
def test_an_error_that_a_logger_wrote_behind_the_end_was_caught(stamp: str) -> None:
    text = (STEPS + KEPT + LOGGED).splitlines()
    stamped = (line if "ms " not in line else stamp.format(at) + line.partition("ms ")[2] for at, line in enumerate(text))
    assert over("".join(f"{line}\n" for line in stamped) + REFUSED).word == "finished"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(STEPS + LOGGED + REFUSED, id="nothing was said of an end"),
        pytest.param(STEPS + KEPT + LOGGED.replace("in main", "in <module>") + REFUSED, id="nobody was above to catch it"),
        pytest.param(STEPS + KEPT + FRAMES + REFUSED, id="no logger wrote it"),
        pytest.param(STEPS + KEPT + LOGGED + REFUSED + raised("not finite"), id="another one came"),
        pytest.param(KEPT.replace("11", "3") + STEPS + KEPT + LOGGED + REFUSED, id="it keeps what is best so far"),
        pytest.param(STEPS + "9000 ms INFO validation done in 3.1 s\n" + LOGGED + REFUSED, id="a part was done"),
    ],
)
def test_without_an_end_before_it_or_with_another_one_behind_it_was_the_end(text: str) -> None:
    assert over(text).word == "crashed"
