"""A line that tells of an end, while somebody of the run works on; and a look that knew no files yet."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.monitor.headless import settled
from hangtop.monitor.stack_requests import satisfied
from hangtop.records.health import SourceHealth
from hangtop.records.log import Progress
from hangtop.records.process import Process, ProcessReading, UnfinishedScript
from hangtop.records.stack import Excerpt, Frame, Stack, Thread
from hangtop.stacks.exit_handlers import runs_at_exit
from hangtop.state.run_state import RunState
from tests.fakes.members import ALL_REDUCE, BUSY, IDLE, LOCK, NOW, SPEC, SPIN, USER, process, run, thread

SERVES = thread(
    Frame("select", "/usr/lib/python3.11/selectors.py", 415), Frame("serve_forever", "/usr/lib/python3.11/socketserver.py", 232)
)
SLEEPS = thread(Frame("main", USER, 90), wait="sleep")
ENDS = thread(
    Frame("wait", "/usr/lib/python3.11/threading.py", 1116), Frame("_shutdown", "/usr/lib/python3.11/threading.py", 1590)
)


def ended(does: Thread, of: Process, silence_s: float = 30.0) -> RunState:
    """Its log told of the end, and this process lives."""
    return run({0: does}, (of,), stage="finish", silence_s=silence_s)


@pytest.mark.parametrize("silence_s", [2.0, 30.0, 130.0, 500.0])
def test_a_run_that_works_after_a_line_of_an_end_has_ended_a_part_only(silence_s: float) -> None:
    busy = process(0, BUSY, "R", cpu_percent=97.0)
    assert diagnose(ended(SPIN, busy, silence_s), SPEC, NOW).word != "finished"


@pytest.mark.parametrize("does", [SERVES, SLEEPS, ENDS])
def test_what_stands_by_after_the_end_does_not_work(does: Thread) -> None:
    assert diagnose(ended(does, process(0, IDLE), 500.0), SPEC, NOW).word == "finished"


def test_a_thread_that_was_left_works_in_vain_once_the_main_program_is_over() -> None:
    state = ended(SPIN, process(0, BUSY, "R", cpu_percent=97.0))
    left = tuple(replace(look, stacks=tuple(_beside(stack) for stack in look.stacks)) for look in state.looks)
    assert diagnose(replace(state, looks=left), SPEC, NOW).word == "finished"


QUEUE = thread(Frame("get", "/usr/lib/python3.11/queue.py", 171), Frame("writer", USER, 6), wait="lock")
PUT = thread(Frame("put", "/usr/lib/python3.11/multiprocessing/queues.py", 89), Frame("load", USER, 6), wait="lock")
JOIN = thread(Frame("poll", "/usr/lib/python3.11/multiprocessing/popen_fork.py", 27), wait="child")


def test_a_thread_that_was_left_and_that_nothing_wakes_never_lets_its_process_end() -> None:
    state = ended(QUEUE, process(0, IDLE), 130.0)
    left = tuple(replace(look, stacks=tuple(_beside(stack) for stack in look.stacks)) for look in state.looks)
    assert diagnose(replace(state, looks=left), SPEC, NOW).word == "hung"
    young = replace(ended(QUEUE, process(0, IDLE), 20.0), looks=left)
    assert diagnose(young, SPEC, NOW).word == "finished", "it may be the usual way to leave"


def test_ranks_that_wait_for_their_peers_after_the_end_never_leave() -> None:
    state = run({0: ALL_REDUCE, 1: LOCK}, (process(0, world=2), process(1, world=2)), stage="finish")
    verdict = diagnose(state, SPEC, NOW)
    assert (verdict.word, [culprit.rank for culprit in verdict.culprits]) == ("hung", [1])
    serving = run({0: SERVES, 1: ALL_REDUCE}, (process(0, world=2), process(1, world=2)), stage="finish")
    assert diagnose(serving, SPEC, NOW).word == "finished", "whoever waits for requests may end the wait of its peer"


@pytest.mark.parametrize(("parent", "word"), [(JOIN, "hung"), (SLEEPS, "finished")])
def test_a_child_that_waits_for_room_in_a_queue_while_its_parent_waits_for_its_end(parent: Thread, word: str) -> None:
    family = (_unnumbered(0, 1), _unnumbered(1, 100))
    state = replace(run({0: parent, 1: PUT}, family, stage="finish"), ranks={})
    assert diagnose(state, SPEC, NOW).word == word


def _unnumbered(number: int, ppid: int) -> Process:
    return replace(process(number, IDLE), role="other", rank=None, world=None, ppid=ppid)


def _beside(stack: Stack) -> Stack:
    return replace(stack, threads=(ENDS, *(replace(each, name="Thread-1") for each in stack.threads)))


def test_one_look_at_who_lives_after_the_end_is_not_enough() -> None:
    once = replace(process(0), recent=None, cpu_percent=None)
    assert not satisfied(take_snapshot(ended(SLEEPS, once, 2.0), SPEC, NOW))
    assert satisfied(take_snapshot(ended(SLEEPS, process(0, IDLE), 2.0), SPEC, NOW))


def test_nobody_is_proven_to_write_files_that_were_not_known_when_writers_were_looked_for() -> None:
    early = ProcessReading(sought=False)
    known = run({}, (), silence_s=20.0)
    assert known.log is not None
    told = replace(known.log, progress=Progress(step=15, total=15, in_round=True), caught_up=True)
    health = {name: SourceHealth(name, read_at=NOW) for name in ("log", "procs")}
    state = replace(known, log=told, procs=early, health=health)
    assert diagnose(state, SPEC, NOW).word != "finished"
    assert not settled(state)
    looked = replace(state, procs=ProcessReading())
    assert diagnose(looked, SPEC, NOW).word == "finished"
    assert settled(looked)


SCRIPT = UnfinishedScript(99, (100,), "python eval.py", in_wait=True)


def served(does: Thread, script: UnfinishedScript, at: Process | None = None) -> RunState:
    """The log told of an end; this process is left, at a port of its own, and its shell has more to do."""
    state = ended(does, at or replace(process(0, IDLE), rank=None, world=None, role="other"), silence_s=130.0)
    at_port = (replace(look, stacks=tuple(replace(stack, listens=True) for stack in look.stacks)) for look in state.looks)
    assert state.procs is not None
    return replace(state, looks=tuple(at_port), procs=replace(state.procs, scripts=(script,)))


ACCEPTS_ONE = thread(Frame("accept", "/usr/lib/python3.11/socket.py", 293), wait="accept")


@pytest.mark.parametrize(
    ("does", "script"),
    [(SERVES, SCRIPT), (SERVES, replace(SCRIPT, in_wait=False)), (ACCEPTS_ONE, SCRIPT)],
    ids=["in the loop of a server", "in the foreground", "it takes one, and goes on"],
)
def test_a_script_that_waits_for_a_server_has_not_finished_and_may_be_meant_to_wait(
    does: Thread, script: UnfinishedScript
) -> None:
    """A container's entry script waits for its server until a signal comes; another server ends by a timer of its own."""
    verdict = diagnose(served(does, script), SPEC, NOW)
    assert (verdict.word, verdict.rule, verdict.confidence, verdict.culprits) == ("waiting", "never_comes_to", "possible", ())
    assert "python eval.py" in verdict.headline


def test_a_script_that_has_more_to_do_goes_on_while_its_child_works() -> None:
    busy = replace(process(0, BUSY, "R", cpu_percent=97.0), rank=None, world=None, role="other")
    assert diagnose(served(SPIN, SCRIPT, busy), SPEC, NOW).word in ("running", "slow")


def test_who_stands_in_a_function_that_it_calls_at_its_exit_has_not_ended() -> None:
    source = "@atexit.register\ndef flush():\n    while not done():\n        time.sleep(1)\natexit.register(box.close)\n"
    flush = Frame("flush", USER, 4)
    assert [runs_at_exit(source, replace(flush, function=name)) for name in ("flush", "Box.close", "done")] == [True, True, False]
    excerpt = Excerpt(USER, 3, ("    while not done():", "        time.sleep(1)"), at=4, loop="asks", at_exit=True)

    def word(*around: Frame, silence_s: float) -> str:
        state = ended(Thread("MainThread", (flush, *around), state="S", wait="sleep"), process(0, IDLE), silence_s)
        looks = (replace(look, excerpts=(excerpt,)) for look in state.looks)
        return diagnose(replace(state, looks=tuple(looks)), SPEC, NOW).word

    assert (word(silence_s=130.0), word(silence_s=20.0)) == ("hung", "running")
    assert word(Frame("<module>", USER, 90), silence_s=130.0) == "finished", "the program calls it itself, and rests at its end"


REST = UnfinishedScript(99, (100,), "python eval.py", outside=True, until=NOW + 16)


def rested(*scripts: UnfinishedScript, silence_s: float = 10.0) -> RunState:
    """The last of its steps is told, nobody writes the log any more, and these scripts have more to do."""
    known = run({}, (), silence_s=silence_s)
    assert known.log is not None
    told = replace(known.log, progress=Progress(step=20, total=20), caught_up=True)
    health = {name: SourceHealth(name, read_at=NOW) for name in ("log", "procs")}
    return replace(known, log=told, health=health, procs=ProcessReading(scripts=scripts))


def test_a_script_that_rests_before_a_part_that_writes_the_log_has_not_ended() -> None:
    verdict = diagnose(rested(REST), SPEC, NOW)
    assert (verdict.word in ("running", "slow"), verdict.rule) == (True, "rests_between_parts")
    assert "python eval.py" in verdict.headline
    broken = rested(REST)
    assert broken.log is not None
    left = replace(broken.log, progress=Progress(step=12, total=20))
    assert diagnose(replace(broken, log=left), SPEC, NOW).word == "crashed", "steps are left that it had counted"
    assert diagnose(rested(), SPEC, NOW).word == "finished", "nothing is left to do"
    assert diagnose(rested(replace(REST, until=NOW - 60)), SPEC, NOW).word == "stalled", "its sleep is over, and nothing came"
    assert diagnose(rested(replace(REST, until=None), silence_s=9_000.0), SPEC, NOW).word == "stalled"
