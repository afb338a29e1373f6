"""Servers of the run that were asked and never admit the question, while their main thread looks for the next one."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.stack import Excerpt, Frame, Stack, Thread
from hangtop.records.waiting import BlockedCall, OtherEnd, ThreadWait, WaitObject
from hangtop.records.watched_waits import WatchedProcess
from hangtop.state.run_state import RunState
from tests.fakes.members import IDLE, NOW, SPEC, THREADING, USER, process, run
from tests.fakes.waited import at_tcp, tcp, waits, watch, watched

LISTENER = OtherEnd(WaitObject("tcp", reads=True, inode=4, tcp_state="listen"), known=False)
LIBRARY = "/usr/lib/python3.11"
TWICE_A_SECOND = replace(IDLE, switches_s=2.1, main_cpu_part=0.0001)
SERVES = Thread(
    "MainThread",
    (Frame("select", f"{LIBRARY}/selectors.py", 415), Frame("serve_forever", f"{LIBRARY}/socketserver.py", 233)),
    state="S",
    wait="poll",
)
WAITS = Thread(
    "Thread-7",
    (Frame("Condition.wait", THREADING, 327), Frame("Event.wait", THREADING, 629), Frame("submit", USER, 46)),
    tid=77,
    state="S",
    wait="lock",
)
LOOKS = Thread("scheduler", (Frame("loop", USER, 56),), tid=78, state="S", wait="sleep")
DECODES = Thread("scheduler", (Frame("decode", USER, 70), Frame("loop", USER, 60)), tid=78, state="S", wait="sleep")


def servers(*asked: Thread, idle: tuple[Thread, ...] = ()) -> RunState:
    """One server that was asked, with these threads, and one beside it that nobody asks."""
    members = {1: (SERVES, *asked)} | ({0: (SERVES, *idle)} if idle else {})
    known = [replace(process(number, TWICE_A_SECOND), rank=None, world=None, role="other") for number in sorted(members)]
    state = run(dict.fromkeys(members, SERVES), tuple(known), silence_s=130.0)

    def shown(stack: Stack) -> Stack:
        return replace(stack, threads=members[stack.pid - 100])

    source = Excerpt(USER, 45, ("        self.waiting.append(sequence)", "    sequence.done.wait()"), at=46, loop="none")
    looks = (replace(look, stacks=tuple(map(shown, look.stacks)), excerpts=(source,)) for look in state.looks)
    return replace(state, looks=tuple(looks))


def status(state: RunState) -> str:
    return next(member.status for member in take_snapshot(state, SPEC, NOW).members if member.pid == 101)


def kernel(*threads: ThreadWait, woken_in: int = 4, at: OtherEnd = LISTENER) -> WatchedProcess:
    polls = ThreadWait(BlockedCall(101, 101, "S", "poll", "poll", timed=True), (at,))
    return watched(101, polls, *threads, woken_in=woken_in)


def at_futex(*, timed: bool) -> ThreadWait:
    return ThreadWait(BlockedCall(101, 77, "S", "futex", "futex", timed=timed))


def test_what_a_twin_does_that_nobody_asks_is_no_work() -> None:
    assert status(servers(WAITS, LOOKS, idle=(LOOKS,))) == "waits"
    said = diagnose(servers(WAITS, LOOKS, idle=(LOOKS,)), SPEC, NOW)
    assert (said.word, [culprit.pid for culprit in said.culprits]) == ("hung", [101])
    awake = replace(LOOKS, frames=(Frame("loop", USER, 49),), state="R", wait=None)
    assert status(servers(WAITS, awake, idle=(LOOKS,))) == "waits", "it was caught awake, at another line"
    assert status(servers(WAITS, DECODES, idle=(LOOKS,))) == "works", "its other thread is not where that of the twin is"
    assert status(servers(WAITS, LOOKS, idle=(WAITS, LOOKS))) == "works", "the twin was asked too"


def test_a_thread_that_waits_without_a_limit_is_not_woken_by_the_main_thread_that_looks_for_the_end() -> None:
    state = servers(WAITS)
    assert status(state) == "works"
    assert status(replace(state, waits=watch(kernel(at_futex(timed=False)), at=NOW - 10))) == "waits"
    assert status(replace(state, waits=watch(kernel(at_futex(timed=True)), at=NOW - 10))) == "works", "it waits for moments"
    answers = kernel(at_futex(timed=False), at=at_tcp(8))
    assert status(replace(state, waits=watch(answers, at=NOW - 10))) == "works", "its main thread may get what that one waits for"
    sleeps = ThreadWait(BlockedCall(101, 78, "S", "sleep", "clock_nanosleep", timed=True))
    assert status(replace(state, waits=watch(kernel(at_futex(timed=False), sleeps), at=NOW - 10))) == "works"


READS = Thread(
    "Thread-7",
    (Frame("SocketIO.readinto", f"{LIBRARY}/socket.py", 706), Frame("do_POST", USER, 46)),
    tid=77,
    state="S",
    wait="socket",
)
ASKS = Thread(
    "MainThread", (Frame("SocketIO.readinto", f"{LIBRARY}/socket.py", 706), Frame("ask", USER, 90)), state="S", wait="socket"
)


def at_one_connection(*threads: ThreadWait, **link: int) -> RunState:
    """A thread of the server reads from its client, which reads from it. `threads`: others of the server."""
    state = servers(READS, idle=(ASKS,))
    looks = (replace(look, stacks=tuple(_client_alone(stack) for stack in look.stacks)) for look in state.looks)
    reads = ThreadWait(BlockedCall(101, 77, "S", "receive", "recvfrom"), (at_tcp(8, 100),))
    asks = watched(100, waits(100, at_tcp(9, 101)), sockets=(tcp(9),))
    server = replace(kernel(reads, *threads), sockets=(tcp(8, **link),), listens=("1",))
    assert state.procs is not None
    client, serves = state.procs.processes
    procs = replace(state.procs, processes=(replace(client, recent=IDLE), serves))
    return replace(state, looks=tuple(looks), procs=procs, waits=watch(asks, server, at=NOW - 10))


def _client_alone(stack: Stack) -> Stack:
    return replace(stack, threads=(ASKS,)) if stack.pid == 100 else stack


def test_two_that_read_what_the_other_does_not_send_wait_for_each_other() -> None:
    said = diagnose(at_one_connection(), SPEC, NOW)
    assert (said.word, {culprit.pid for culprit in said.culprits}) == ("hung", {100, 101})
    assert said.headline == "Process 100 and pid 101 wait for each other."


def test_a_server_that_reads_from_its_client_lives_while_anything_may_give_the_answer() -> None:
    sleeps = ThreadWait(BlockedCall(101, 78, "S", "sleep", "clock_nanosleep", timed=True))
    asks = ThreadWait(BlockedCall(101, 78, "S", "futex", "futex", timed=True))
    assert diagnose(at_one_connection(sleeps), SPEC, NOW).word == "slow"
    assert diagnose(at_one_connection(asks), SPEC, NOW).word == "slow"
    assert diagnose(at_one_connection(received_in=2), SPEC, NOW).word == "slow", "its client sends, slowly"


def test_of_two_servers_that_stand_the_one_that_nobody_asks_is_not_named() -> None:
    state = servers(WAITS, LOOKS, idle=(LOOKS,))
    sleeps = ThreadWait(BlockedCall(100, 78, "S", "sleep", "clock_nanosleep", timed=True))
    polls = ThreadWait(BlockedCall(100, 100, "S", "poll", "poll", timed=True), (LISTENER,))
    alike = ThreadWait(BlockedCall(101, 79, "S", "futex", "futex", timed=False))
    both = watch(kernel(alike), watched(100, polls, sleeps, woken_in=4), at=NOW - 10)
    verdict = diagnose(replace(state, waits=both), SPEC, NOW)
    assert (verdict.word, [culprit.pid for culprit in verdict.culprits]) == ("hung", [101])
