"""A busy rank that reads from a connection whose other end is gone is no work."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.stack import Excerpt, Frame, Loop
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.records.watched_waits import WatchedProcess
from hangtop.stacks.loop_exits import loop_at
from tests.fakes.members import ALL_REDUCE, BUSY, NOW, USER, four, process, run, thread
from tests.fakes.waited import tcp, waits, watch, watched

SPEC = WatchSpec(logs=("train.log",), stall_s=8.0)
TAKES = thread(Frame("take", USER, 71), state="R")
READS = ("while len(data) < count:", "    data += line.recv(count - len(data))")
SPINS = process(2, BUSY, "R", cpu_percent=97.0)


def spins(*, state: str = "close-wait", unread: int = 0, **more: object) -> WatchedProcess:
    link = tcp(8)
    closed = replace(link, last=replace(link.last, state=state, unread_bytes=unread))
    return watched(102, waits(102, state="R"), **({"busy_in": 4, "sockets": (closed,)} | more))


def said(own: WatchedProcess, lines: tuple[str, ...] = READS, loop: Loop = "takes", *, lost: bool = False) -> Verdict:
    """Rank 2 is busy in such a loop, and its peers wait for it. `lost`: rank 1 has no process any more."""
    quiet = four(TAKES, SPINS, silence_s=30.0)
    if lost:
        quiet = run({0: ALL_REDUCE, 2: TAKES, 3: ALL_REDUCE}, (process(0), SPINS, process(3)), silence_s=30.0)
    source = Excerpt(USER, 70, lines, at=71, loop=loop, loop_line=70)
    looks = tuple(replace(look, excerpts=(source,)) for look in quiet.looks)
    return diagnose(replace(quiet, looks=looks, waits=watch(own, at=NOW - 10)), SPEC, NOW)


def test_it_waits_for_the_dead_and_the_rank_that_is_gone_is_named() -> None:
    told = said(spins(), lost=True)
    assert (told.word, told.kind, [culprit.rank for culprit in told.culprits]) == ("crashed", "dead_process", [1])
    assert "rank 2 reads again and again in take (train.py:71) from a connection" in told.evidence[1].text


def test_the_loops_that_read_until_enough_has_come() -> None:
    assert loop_at("\n".join(READS), 2) == "takes"
    assert said(spins(), loop="asks").word == said(spins(), loop="endless").word == "hung"


def test_where_nobody_is_gone_it_is_named_itself() -> None:
    told = said(spins())
    assert (told.word, [culprit.rank for culprit in told.culprits]) == ("hung", [2])


def test_one_that_may_compute_or_still_gets_bytes_lives() -> None:
    assert said(spins(state="established")).word == "slow", "nobody has closed it"
    assert said(spins(unread=9)).word == "slow", "there is more to read"
    assert said(spins(busy_in=0)).word == "slow", "it does not spin"
    assert said(spins(), ("while error > least:", "    error = step(error)")).word == "slow", "it reads nothing there"
    assert said(spins(), loop="ends").word == "slow", "its loop ends by itself"
    more = spins()
    moving = replace(more, sockets=(*more.sockets, tcp(9, received_in=3, received_bytes=3_000)))
    assert said(moving).word == "slow", "another connection gives it something"
    assert said(spins(), lost=True, loop="ends").word == "slow", "a rank that left early is no reason"
