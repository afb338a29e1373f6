"""Runs that stand on purpose, and ranks that only a side thread keeps busy."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.log import LogLine, Pace, Progress
from hangtop.records.process import UnfinishedScript
from hangtop.records.stack import Frame, Thread
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import OtherEnd, WaitObject
from hangtop.records.watched_waits import WatchedProcess
from hangtop.state.run_state import RunState
from tests.fakes.members import BUSY, NOW, SPEC, SPIN, STEP, THREADING, USER, four, process, run, thread
from tests.fakes.waited import OUTSIDE, waits, watch, watched

PDB = Frame("Pdb.interaction", "/usr/lib/python3.11/pdb.py", 433)
AT_PDB = Thread("MainThread", (Frame("Cmd.cmdloop", "/usr/lib/python3.11/cmd.py", 126), PDB, STEP), state="S", wait="pipe")
TYPES = Thread("MainThread", (STEP,), state="S", wait="terminal")
SELECTS = Thread(
    "MainThread",
    (Frame("EpollSelector.select", "/usr/lib/python3.11/selectors.py", 468), Frame("serve", USER, 5)),
    state="S",
    wait="poll",
)
ACCEPTS = Thread("MainThread", (Frame("serve", USER, 5),), state="S", wait="accept")
COMPUTES = replace(BUSY, switches_s=0.0, main_cpu_part=0.0)
PACED = Pace(steps=20, p50_s=1.0, p95_s=1.0)
ASKS = thread(Frame("ask_judge", USER, 67), wait="socket")
RESULT = thread(Frame("wait", THREADING, 324), Frame("prepare", USER, 60))


def alone(shown: Thread, *, listens: bool = True, rank: int | None = None, step: int | None = None) -> RunState:
    """One process that stands, with a port of its own or without."""
    state = run({0: shown}, (replace(process(0), rank=rank, world=None, role="other"),))
    looks = tuple(replace(look, stacks=tuple(replace(stack, listens=listens) for stack in look.stacks)) for look in state.looks)
    assert state.log is not None
    return replace(state, looks=looks, log=replace(state.log, progress=Progress(step=step)))


@pytest.mark.parametrize(
    ("shown", "words"),
    [(AT_PDB, "stands at the prompt of a debugger in train_step"), (TYPES, "waits for a person to type in train_step")],
)
def test_who_sits_at_a_prompt_is_waited_for_and_not_hung(shown: Thread, words: str) -> None:
    verdict = diagnose(four(shown), SPEC, NOW)
    assert verdict.word == "waiting"
    assert words in verdict.headline
    assert [culprit.rank for culprit in verdict.culprits] == [2]


def test_a_tool_without_a_stack_that_reads_a_terminal_waits_for_a_person() -> None:
    at = OtherEnd(WaitObject("terminal", reads=True, path="/dev/pts/4"), known=False)
    tool = replace(process(0), role="other", rank=None, world=None, name="zstd", command="zstd -9 model.bin")
    asks = watched(100, waits(100, at, kind="read"))
    said = diagnose(run({}, (tool,), waits=watch(asks, at=NOW - 10)), SPEC, NOW)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("waiting", [100])
    assert said.headline.endswith("waits for a person to type.")
    goes_on = replace(asks, stood=False)
    assert diagnose(run({}, (tool,), waits=watch(goes_on, at=NOW - 10)), SPEC, NOW).word != "waiting"


def test_a_rank_that_works_comes_before_a_prompt() -> None:
    state = four(AT_PDB)
    assert state.procs is not None
    busy = tuple(replace(one, subtree_cpu_percent=90.0) if one.rank == 0 else one for one in state.procs.processes)
    shown = replace(state.procs, processes=busy)
    looks = tuple(
        replace(
            look, stacks=tuple(replace(s, threads=(thread(Frame("fit", USER, 9)),)) if s.rank == 0 else s for s in look.stacks)
        )
        for look in state.looks
    )
    assert diagnose(replace(state, procs=shown, looks=looks), SPEC, NOW).word == "slow"


@pytest.mark.parametrize("shown", [SELECTS, ACCEPTS])
def test_a_server_that_nobody_asks_idles_on_purpose(shown: Thread) -> None:
    assert diagnose(alone(shown), SPEC, NOW).word == "running"


def test_a_server_that_is_left_when_all_steps_are_counted_out_serves_the_results() -> None:
    state = alone(SELECTS, step=12)
    assert state.log is not None
    done = replace(state.log, progress=Progress(step=12, total=12))
    assert diagnose(replace(state, log=done), SPEC, NOW).word == "finished"
    round_done = replace(done, progress=replace(done.progress, partial=True))
    assert diagnose(replace(state, log=round_done), SPEC, NOW).word == "hung", "more rounds are to come"


SCRIPT = UnfinishedScript(98, (100,), "python report.py", True)


def scripted(state: RunState) -> Verdict:
    assert state.procs is not None
    return diagnose(replace(state, procs=replace(state.procs, scripts=(SCRIPT,))), SPEC, NOW)


def test_servers_behind_which_a_script_has_more_to_do_are_waited_for_also_if_one_is_at_no_port() -> None:
    state = alone(SELECTS)
    others = tuple(replace(process(number), rank=None, world=None, role="other") for number in (0, 1))
    both = replace(run({0: SELECTS, 1: SELECTS}, others), log=state.log)
    looks = (
        replace(look, stacks=tuple(replace(each, rank=None, listens=each.pid == 100) for each in look.stacks))
        for look in both.looks
    )
    both = replace(both, looks=tuple(looks), ranks={})
    for said in (scripted(state), scripted(both)):
        assert (said.word, said.confidence, said.culprits) == ("waiting", "possible", ())
    assert scripted(both).rule == "idle"
    assert diagnose(both, SPEC, NOW).word == "hung", "no script tells that these are no ranks"
    assert scripted(alone(RESULT)).word == "hung", "it waits for something else"


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(alone(SELECTS, listens=False), id="nobody can ask it"),
        pytest.param(alone(SELECTS, step=5), id="it told steps, and owes more"),
        pytest.param(alone(SELECTS, rank=0), id="a rank has peers"),
        pytest.param(alone(RESULT), id="it waits for something else"),
    ],
)
def test_what_stands_otherwise_is_no_idle_server(state: RunState) -> None:
    assert diagnose(state, SPEC, NOW).word == "hung"


def test_beside_a_server_to_which_nobody_is_connected_the_other_one_is_named() -> None:
    """Both are in their event loops; one of them waits for nobody but itself."""
    others = tuple(replace(process(number), rank=None, world=None, role="other") for number in (0, 1))
    state = run({0: SELECTS, 1: SELECTS}, others)
    listener = OtherEnd(WaitObject("unix", reads=True, inode=9, path="/run/answers.sock"), known=False)
    serves, inside = watched(100, waits(100, listener, kind="poll")), watched(101, waits(101, kind="poll"))
    said = diagnose(replace(state, ranks={}, waits=watch(serves, inside, at=NOW - 10)), SPEC, NOW)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("hung", [101])


def test_a_busy_side_thread_is_no_life_while_the_main_thread_waits_for_an_answer() -> None:
    verdict = diagnose(four(ASKS, process(2, COMPUTES)), SPEC, NOW)
    assert verdict.word == "hung"
    assert [culprit.rank for culprit in verdict.culprits] == [2]
    assert "while another of its threads computes" in verdict.culprits[0].why[0]


def test_a_main_thread_that_waits_for_its_own_threads_may_get_their_work() -> None:
    verdict = diagnose(four(RESULT, process(2, COMPUTES)), SPEC, NOW)
    assert verdict.word == "slow"
    assert "time tells" in verdict.headline


def test_a_busy_rank_whose_main_thread_wakes_is_alive() -> None:
    awake = replace(COMPUTES, switches_s=20.0, main_cpu_part=0.3)
    assert diagnose(four(ASKS, process(2, awake)), SPEC, NOW).word == "slow"


def test_a_main_thread_that_rests_between_its_turns_works() -> None:
    turns = replace(COMPUTES, switches_s=0.3, main_cpu_part=0.5)
    assert diagnose(four(thread(Frame("step_world", USER, 67), wait="sleep"), process(2, turns)), SPEC, NOW).word == "slow"


def test_who_may_work_in_a_loop_that_still_writes_lines_is_not_called_hung() -> None:
    state = four(SPIN, process(2, BUSY, "R"), silence_s=900)
    assert state.log is not None
    log = replace(state.log, pace=PACED, news_at=NOW - 900, clockwork_since=NOW - 900, last_output_at=NOW - 1, repeats="tick")
    assert diagnose(state, SPEC, NOW).word == "hung"
    assert diagnose(replace(state, log=log), SPEC, NOW).word == "slow"


SHUTDOWN = thread(Frame("_shutdown", THREADING, 1590), wait="futex")
LISTENS = OtherEnd(WaitObject("tcp", reads=True, inode=3, local="127.0.0.1:80", tcp_state="listen"), known=False)
CALLER = OtherEnd(WaitObject("tcp", reads=True, inode=4, local="127.0.0.1:80", remote="127.0.0.1:9"), (OUTSIDE,))
ENDED = watched(100, waits(100, kind="futex"), waits(100, LISTENS, kind="poll", tid=101), listens=("80",))


def left(served: WatchedProcess = ENDED, shown: Thread = SHUTDOWN, *, words: str = "curves at :80") -> Verdict:
    """A program that told 18 of 40 steps, and whose main thread waits for its other one."""
    state = alone(shown, step=18)
    assert state.log is not None
    told = replace(state.log, progress=Progress(step=18, total=40))
    return diagnose(
        replace(state, log=told, tail=(LogLine(0, 5, None, None, "", words),), waits=watch(served, at=NOW - 10)), SPEC, NOW
    )


def test_a_program_that_is_over_and_leaves_a_server_has_finished_whatever_its_last_step_was() -> None:
    assert left().word == "finished"


def test_one_that_told_no_step_before_it_left_a_server_idles() -> None:
    state = replace(alone(SHUTDOWN), waits=watch(ENDED, at=NOW - 10))
    assert scripted(state).word == "waiting", "and its script has more to do"
    assert diagnose(state, SPEC, NOW).headline.endswith("it listens, and nobody asks.")
    said = ("GET /curve 200", "GET /curve 200", "GET /curve 304", "GET /curve 200")
    asked = tuple(LogLine(0, 9 * at, None, None, "", text) for at, text in enumerate(said))
    assert diagnose(replace(state, tail=asked), SPEC, NOW).word == "running"


def test_one_that_counted_in_words_that_nobody_knows_had_steps_all_the_same() -> None:
    told = tuple(LogLine(0, 9 * at, None, None, "", f"época {at:>2}/40  val {2.5 - at / 9:.2f}") for at in range(1, 7))
    state = replace(alone(SHUTDOWN), waits=watch(ENDED, at=NOW - 10))
    assert diagnose(replace(state, tail=told), SPEC, NOW).word == "finished"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(left(shown=RESULT), id="its program is not over"),
        pytest.param(left(watched(100, waits(100, kind="futex"), waits(100, kind="futex", tid=101))), id="nobody serves"),
        pytest.param(left(replace(ENDED, threads=(*ENDED.threads, waits(100, CALLER, tid=102)))), id="somebody is connected"),
        pytest.param(left(replace(ENDED, complete=False)), id="other threads are not known"),
        pytest.param(left(words="ValueError: no such split"), id="it complained last"),
    ],
)
def test_what_else_waits_for_its_threads_has_not_finished(said: Verdict) -> None:
    assert said.word != "finished"
