"""Many stacks folded into classes: smallest first, the waiters last, with the place where they part."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.records.stack import Excerpt, Frame, Stack, StacksReading, Thread, Wait
from hangtop.render.stack_rows import StackView, rows, summary
from hangtop.stacks.stack_classes import classes, each_thread, library_summary, motion, number, only, stands_out

RUN = "/home/me/fleet.py"
OUTER = (Frame("main", RUN, 90), Frame("<module>", RUN, 99), Frame("_run_code", "<frozen runpy>", 88))


def stack(rank: int | None, *inner: Frame, wait: Wait | None = "lock", state: str = "S", pid: int | None = None) -> Stack:
    pid = pid or 1000 + (rank or 0)
    return Stack(pid, 10.0, (Thread("MainThread", (*inner, *OUTER), pid, state=state, wait=wait),), rank, started_ticks=5)


def waiter(rank: int) -> Stack:
    return stack(rank, Frame("all_reduce", "/home/me/ring.py", 25), Frame("train_step", RUN, 22), wait="socket")


def culprit(rank: int) -> Stack:
    return stack(rank, Frame("_wait_for_shard", RUN, 88), Frame("update_actor", RUN, 61), Frame("train_step", RUN, 12))


def shown(view: StackView, width: int = 100) -> str:
    return "\n".join("".join(text for text, _ in row).rstrip() for row in rows(view, width))


def view_of(*stacks: Stack, **parts: object) -> StackView:
    look = StacksReading(1, stacks=stacks, started_at=0.0, took_s=0.4, done=True)
    return StackView((replace(look, **parts),), stacks)


def test_seven_in_the_collective_and_one_elsewhere_are_two_classes_the_odd_one_first() -> None:
    odd, most = classes([*(waiter(rank) for rank in (0, 1, 2, 4, 5, 6, 7)), culprit(3)])
    assert odd.ranks == (3,)
    assert most.ranks == (0, 1, 2, 4, 5, 6, 7)
    assert stands_out(odd, (odd, most))
    assert not stands_out(most, (odd, most))


def test_the_odd_class_comes_first_even_when_it_is_the_bigger_one() -> None:
    first, second = classes([culprit(0), culprit(1), waiter(2)])
    assert (first.ranks, second.ranks) == ((0, 1), (2,))


def test_classes_part_at_the_last_function_they_share() -> None:
    odd, most = classes([culprit(3), waiter(0)])
    assert odd.parts_at is not None
    assert most.parts_at is not None
    assert odd.frames[odd.parts_at].line == 12
    assert most.frames[most.parts_at].line == 22


def test_the_same_functions_at_another_line_of_the_user_are_another_class_and_part_there() -> None:
    def at(rank: int, line: int) -> Stack:
        return stack(
            rank,
            Frame("all_reduce", "/x/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", 2810),
            Frame("step", RUN, line),
        )

    parted_class, other = classes([at(0, 40), at(1, 40), at(2, 44)])
    assert (parted_class.ranks, other.ranks) == ((2,), (0, 1))
    assert parted_class.parts_at is not None
    assert parted_class.frames[parted_class.parts_at] == Frame("step", RUN, 44)


def test_ranks_that_run_are_one_class_whatever_line_they_are_in() -> None:
    spinning = [stack(rank, Frame("forward", RUN, 50 + rank), wait=None, state="R") for rank in range(4)]
    assert [stack_class.ranks for stack_class in classes(spinning)] == [(0, 1, 2, 3)]


def test_one_class_parts_nowhere() -> None:
    (only_one,) = classes([waiter(0), waiter(1)])
    assert only_one.parts_at is None


def test_addresses_without_a_symbol_do_not_split_a_class() -> None:
    def native(rank: int) -> Stack:
        return stack(rank, Frame(f"0x7f{rank}", "/usr/lib/libc.so.6", 0), Frame("step", RUN, 4))

    assert len(classes([native(0), native(1)])) == 1


def test_two_looks_tell_still_from_moving() -> None:
    then = culprit(3)
    assert motion(then, culprit(3)) == "still"
    assert (
        motion(then, stack(3, Frame("_wait_for_shard", RUN, 89), Frame("update_actor", RUN, 61), Frame("train_step", RUN, 12)))
        == "within"
    )
    assert motion(then, replace(waiter(3), pid=then.pid)) == "moved"
    assert motion(then, replace(culprit(3), started_ticks=6)) is None
    assert motion(then, Stack(then.pid, 0.0, problem="the process is gone")) is None


def test_filters_by_rank_thread_and_function() -> None:
    stacks = [culprit(3), waiter(0)]
    assert [kept_stack.rank for kept_stack in only(stacks, ranks=frozenset({0}))] == [0]
    assert [kept_stack.rank for kept_stack in only(stacks, function="UPDATE_actor")] == [3]
    assert only(stacks, thread="prefetch") == ()
    assert len(only(stacks, thread="main")) == 2


def test_every_thread_can_be_folded_by_itself() -> None:
    second = Thread("prefetch", (Frame("_prefetch", RUN, 52),), 2000, state="S", wait="lock")
    both = replace(culprit(3), threads=(*culprit(3).threads, second))
    assert len(classes([both])) == 1
    assert len(classes(each_thread([both]))) == 2


def test_stacks_get_their_ranks_by_pid() -> None:
    (numbered_stack,) = number([replace(waiter(0), rank=None, pid=77)], {5: 77})
    assert numbered_stack.rank == 5


def test_the_view_shows_ranges_the_parting_lines_and_folds_the_rest() -> None:
    excerpts = (
        Excerpt(RUN, 10, ("def train_step(self, batch):", "    if stale:", "        self.update_actor(batch)")),
        Excerpt(RUN, 21, ("    if sync:", "        self.sync_weights()", "    return")),
    )
    text = shown(view_of(*(waiter(rank) for rank in (0, 1, 2, 4, 5, 6, 7)), culprit(3), excerpts=excerpts))
    assert text.splitlines()[0] == "▌ 1 rank   3  waits for a lock in _wait_for_shard · S · MainThread"
    assert "▏ 7 ranks   0-2 4-7  in all_reduce · S · MainThread" in text
    assert text.count("◂ the classes part here") == 2
    assert "⋯ 3 frames of fleet.py, python" in text
    assert "▸     12          self.update_actor(batch)   ◂ rank 3" in text
    assert "▸     22          self.sync_weights()   ◂ ranks 0-2 4-7" in text
    assert "unchanged since the run started" in text


def test_a_source_newer_than_the_run_is_said() -> None:
    excerpts = (Excerpt(RUN, 12, ("a",), changed=True), Excerpt(RUN, 22, ("b",)))
    assert "changed since the run started: lines may not fit" in shown(view_of(waiter(0), culprit(3), excerpts=excerpts))


def test_the_summary_says_when_and_that_nobody_was_stopped() -> None:
    view = view_of(waiter(0), culprit(3))
    assert summary(view).startswith("2 classes of 2 ranks · taken ")
    assert summary(view).endswith(" in 0.4 s · no process was stopped")
    assert "each was stopped for about 0.1 s" in summary(view_of(replace(waiter(0), stopped=True)))
    assert "1 of 2 was stopped" in summary(view_of(replace(waiter(0), stopped=True), culprit(3)))


def test_two_looks_are_summed_up() -> None:
    before = StacksReading(1, stacks=(waiter(0),), started_at=0.0)
    after = StacksReading(2, stacks=(waiter(0),), started_at=10.0, took_s=0.1)
    assert summary(StackView((before, after), after.stacks)).endswith("unchanged in 2 looks over 10 s")


def test_processes_that_could_not_be_read_are_folded_by_reason_with_the_mend() -> None:
    refused = [
        Stack(1000 + rank, 0.0, rank=rank, problem="not permitted: ptrace_scope is 1", mend="sudo sysctl …") for rank in (4, 5, 6)
    ]
    text = shown(view_of(waiter(0), *refused))
    assert "! ranks 4-6: not permitted: ptrace_scope is 1\n    sudo sysctl …" in text


def test_a_dump_by_signal_is_offered_where_a_handler_was_seen() -> None:
    refused = Stack(77, 0.0, rank=4, problem="not permitted: ptrace_scope is 1", signal_dump=True)
    assert "    kill -USR1 77   (its log then holds its stacks, if" in shown(view_of(waiter(0), refused))
    assert "USR1" not in shown(view_of(waiter(0), replace(refused, signal_dump=False)))


def test_a_look_that_was_refused_is_one_line_and_its_mend() -> None:
    assert shown(view_of(problem="py-spy not found", mend="pip install py-spy")) == "! py-spy not found\n    pip install py-spy"


def test_processes_that_are_no_ranks_stand_below() -> None:
    driver = stack(None, Frame("get", "/x/lib/python3.11/site-packages/ray/_private/worker.py", 2900), pid=50)
    text = shown(view_of(waiter(0), driver))
    assert "Not ranks  1\n▏ pid 50  waits for an answer in main  fleet.py:90" in text


def test_no_row_is_wider_than_asked() -> None:
    view = view_of(*(waiter(rank) for rank in range(0, 64, 2)), culprit(3))
    assert all(sum(len(text) for text, _ in row) <= 60 for row in rows(view, 60))


def test_folded_frames_are_named_by_their_packages() -> None:
    site = "/opt/lib/python3.11/site-packages"
    listed = [Frame("a", f"{site}/ray/x.py", 1), Frame("b", f"{site}/ray/y.py", 1), Frame("c", f"{site}/verl/z.py", 1)]
    assert library_summary(listed) == "3 frames of ray, verl"
