"""Chains of processes that wait for each other, and what is a dead-lock."""

from __future__ import annotations

from hangtop.diagnosis.facts.wait_graph import chains, dead_locks, wait_graph
from hangtop.records.waiting import BlockedCall, CallKind, OtherEnd, ThreadWait, WaitObject, WaitReading

PIPE = WaitObject("pipe", reads=True, inode=7)


def waits(
    pid: int, *ends: OtherEnd, kind: CallKind = "poll", timed: bool = False, tid: int | None = None, state: str = "S"
) -> ThreadWait:
    return ThreadWait(BlockedCall(pid, tid or pid, state, kind, timed=timed), ends)


def held(*pids: int, all_needed: bool = False, hidden: int = 0) -> OtherEnd:
    return OtherEnd(PIPE, pids, all_needed=all_needed, hidden=hidden)


def runs(pid: int, tid: int | None = None) -> ThreadWait:
    return ThreadWait(BlockedCall(pid, tid or pid, "R"))


def look(*threads: ThreadWait, complete: bool = True) -> WaitReading:
    return WaitReading(threads, complete=tuple({thread.call.pid for thread in threads}) if complete else ())


def locked(*threads: ThreadWait, complete: bool = True) -> list[tuple[int, ...]]:
    return [lock.pids for lock in dead_locks(wait_graph(look(*threads, complete=complete)))]


def test_a_chain_leads_to_the_process_at_its_end() -> None:
    graph = wait_graph(look(waits(1, held(2)), waits(2, held(3)), runs(3)))
    assert [[(edge.waiter, edge.holder) for edge in chain] for chain in chains(graph, 1)] == [[(1, 2), (2, 3)]]
    assert chains(graph, 3) == ()
    assert dead_locks(graph) == ()


def test_a_chain_ends_at_a_process_that_was_not_looked_at() -> None:
    graph = wait_graph(look(waits(1, held(9))))
    assert [chain[-1].holder for chain in chains(graph, 1)] == [9]
    assert dead_locks(graph) == ()


def test_several_holders_give_several_chains_and_say_that_there_was_a_choice() -> None:
    graph = wait_graph(look(waits(1, held(2, 3)), runs(2), runs(3)))
    assert [(chain[-1].holder, chain[-1].choices) for chain in chains(graph, 1)] == [(2, 2), (3, 2)]


def test_a_chain_follows_first_threads_and_others_on_request() -> None:
    """An event loop beside them waits for all its peers, at any time."""
    inside = OtherEnd(WaitObject("futex", shared=False), (1,))
    graph = wait_graph(look(waits(1, inside, kind="futex"), waits(1, held(2), tid=11), runs(2)))
    assert chains(graph, 1) == ()
    assert [chain[-1].holder for chain in chains(graph, 1, every_thread=True)] == [2]


def test_a_process_without_its_first_thread_is_followed_by_the_one_that_was_seen() -> None:
    graph = wait_graph(look(waits(1, held(2), tid=11), runs(2)))
    assert [chain[-1].holder for chain in chains(graph, 1)] == [2]


def test_two_that_wait_for_each_other_are_a_dead_lock() -> None:
    (lock,) = dead_locks(wait_graph(look(waits(1, held(2)), waits(2, held(1, hidden=3)))))
    assert (lock.pids, lock.hidden, lock.partly_seen, len(lock.edges)) == ((1, 2), 3, (), 2)


def test_who_waits_for_a_dead_lock_stands_behind_it() -> None:
    (lock,) = dead_locks(wait_graph(look(waits(1, held(2)), waits(2, held(1)), waits(3, held(1)), waits(4, held(3)))))
    assert (lock.pids, lock.behind) == ((1, 2), (3, 4))
    assert chains(wait_graph(look(waits(1, held(2)), waits(2, held(1)))), 1) == ()


def test_a_circle_that_somebody_else_can_end_is_none() -> None:
    assert locked(waits(1, held(2), held(3)), waits(2, held(1)), runs(3)) == []


def test_a_circle_in_which_one_has_a_limit_is_none() -> None:
    assert locked(waits(1, held(2), timed=True), waits(2, held(1))) == []


def test_a_circle_in_which_one_has_another_thread_that_works_is_none() -> None:
    assert locked(waits(1, held(2)), runs(1, tid=11), waits(2, held(1))) == []
    assert locked(waits(1, held(2)), waits(1, held(2), tid=11), waits(2, held(1))) == [(1, 2)]


def test_a_lock_of_several_holders_is_dead_if_one_of_them_is() -> None:
    assert locked(waits(1, held(2, 3, all_needed=True)), waits(2, held(1)), runs(3)) == [(1, 2)]
    assert locked(waits(1, held(2, 3)), waits(2, held(1)), runs(3)) == []


def test_who_holds_both_ends_waits_for_himself() -> None:
    assert locked(waits(1, held(1))) == [(1,)]


def test_threads_that_wait_for_each_other_in_one_process_are_a_dead_lock_only_if_all_were_seen() -> None:
    inside = OtherEnd(WaitObject("futex", shared=False), (1,))
    assert locked(waits(1, inside, kind="futex"), waits(1, inside, kind="futex", tid=11)) == [(1,)]
    assert locked(waits(1, inside, kind="futex"), complete=False) == []


def test_a_group_of_which_only_first_threads_were_seen_says_so() -> None:
    (lock,) = dead_locks(wait_graph(look(waits(1, held(2)), waits(2, held(1)), complete=False)))
    assert lock.partly_seen == (1, 2)


def test_what_is_not_known_is_taken_for_free() -> None:
    unknown = OtherEnd(WaitObject("eventfd"), known=False)
    unread = ThreadWait(BlockedCall(2, 2, "S", unread="not permitted"), ())
    assert locked(waits(1, held(2), unknown), waits(2, held(1))) == []
    assert locked(waits(1, held(2)), unread) == []
    assert locked(waits(1, held(2)), waits(2, OtherEnd(PIPE, hidden=1))) == []
    assert locked(waits(1, held(2)), waits(2, state="T")) == []


def test_two_groups_are_two_dead_locks() -> None:
    assert locked(waits(1, held(2)), waits(2, held(1)), waits(5, held(6)), waits(6, held(5))) == [(1, 2), (5, 6)]


def test_a_ring_of_a_thousand_is_one_dead_lock() -> None:
    ring = [waits(pid, held(pid % 1000 + 1)) for pid in range(1, 1001)]
    assert locked(*ring) == [tuple(range(1, 1001))]
