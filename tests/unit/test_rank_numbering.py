"""Ranks of multiprocessing, whose number only the order of their start tells."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.members.rank_numbering import by_order, dead, missing_here, said, serves, siblings, with_parent
from hangtop.records.process import Process

SPAWNED = (
    "python -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle={}) --multiprocessing-fork"
)
LAUNCHER = Process(10, 1.0, 100, 1, "python", "python train.py", "S")


def child(pid: int, start_ticks: int, **more: Any) -> Process:
    return Process(pid, 1.0, start_ticks, 10, "python", more.pop("command", "python train.py"), more.pop("state", "S"), **more)


FORKS = (child(40, 120), child(41, 110), child(42, 130))


def test_forks_are_numbered_in_the_order_of_their_start_not_of_their_pid() -> None:
    assert by_order(siblings((LAUNCHER, *FORKS)), 3) == {41: 0, 40: 1, 42: 2}


def test_spawned_interpreters_are_ranks_and_the_tracker_of_multiprocessing_is_none() -> None:
    tracker = child(39, 101, command="python -c from multiprocessing.resource_tracker import main;main(4)")
    spawned = [child(40 + place, 110 + place, command=SPAWNED.format(place)) for place in range(2)]
    assert by_order(siblings((LAUNCHER, tracker, *spawned)), 2) == {40: 0, 41: 1}


def test_what_only_keeps_the_log_of_a_run_that_hangtop_started_is_no_member() -> None:
    assert serves(child(39, 101, command="/venv/bin/python -m hangtop.actions.execute.runner"))
    assert not serves(child(40, 102))


def test_a_zombie_that_shows_no_command_keeps_its_place() -> None:
    dead = child(41, 110, command="", state="Z")
    assert [sibling.pid for sibling in siblings((LAUNCHER, FORKS[0], dead, FORKS[2]))] == [41, 40, 42]


def test_forks_whose_parent_writes_no_log_are_known_by_each_other() -> None:
    assert by_order(siblings(FORKS), 3) == {41: 0, 40: 1, 42: 2}


def test_where_the_log_counts_other_ranks_nothing_is_guessed() -> None:
    assert by_order(siblings((LAUNCHER, *FORKS)), 4) == {}


def test_without_ranks_in_the_log_those_who_wait_for_each_other_are_ranks_and_a_pool_is_not() -> None:
    assert by_order(siblings((LAUNCHER, *FORKS)), None, meets=True) == {41: 0, 40: 1, 42: 2}
    assert by_order(siblings((LAUNCHER, *FORKS)), None) == {}


def test_processes_with_a_number_of_their_own_are_no_siblings() -> None:
    assert siblings((LAUNCHER, child(40, 110, rank=0), child(41, 111, rank=1))) == ()


def test_ranks_numbered_in_their_command_line_only() -> None:
    ranks = [child(40 + place, 110, command=f"python worker.py --rank {2 - place} --lr 1e-4") for place in range(3)]
    assert said(ranks) == {40: 2, 41: 1, 42: 0}


@pytest.mark.parametrize(
    "command",
    ["python worker.py {} --port 29500", "trainer [rank {}/4]", "python w.py --id={} --port 2950{}", "python stage{}.py"],
)
def test_command_lines_and_titles_that_differ_in_a_number_tell_it(command: str) -> None:
    ranks = [child(40 + place, 110, command=command.format(2 - place, 2 - place)) for place in range(3)]
    assert said(ranks) == {40: 2, 41: 1, 42: 0}


def test_numbers_that_do_not_count_all_of_them_are_no_ranks() -> None:
    assert said([child(40 + place, 110, command=f"python w.py --port {29500 + place}") for place in range(3)]) == {}
    assert said([child(40 + place, 110, command=f"python w.py {place} {2 - place}") for place in range(3)]) == {}


def test_data_workers_forked_from_a_rank_are_not_counted_beside_it() -> None:
    ranks = [child(40 + place, 110, command=f"python worker.py --rank {place}") for place in range(2)]
    copy = Process(60, 1.0, 120, 40, "python", "python worker.py --rank 0", "S")
    assert said([*ranks, copy]) == {40: 0, 41: 1}


def test_what_passes_on_the_output_of_the_ranks_is_no_rank() -> None:
    relays = [replace(child(60 + place, 109, command=f"sed -u s/^/[{place}]/"), name="sed") for place in range(3)]
    ranks = [child(40 + place, 110, command=f"python worker.py {place}") for place in range(3)]
    assert said([*relays, *ranks]) == {40: 0, 41: 1, 42: 2}
    assert siblings((LAUNCHER, *relays)) == ()


def test_ranks_behind_a_shell_each_are_children_of_who_started_the_shells() -> None:
    shells = [replace(child(60 + place, 109 + place, command="sh -c python w.py; true"), name="sh") for place in range(3)]
    ranks = [replace(child(40 + place, 120 + place, command="python w.py"), ppid=60 + place) for place in range(3)]
    assert by_order(siblings((LAUNCHER, *shells, *ranks), 3), 3) == {40: 0, 41: 1, 42: 2}


def test_ranks_of_several_launchers_count_on_in_the_order_of_the_launchers() -> None:
    second = replace(LAUNCHER, pid=11, start_ticks=101)
    ranks = [replace(child(40 + place, 110 + place % 2), ppid=10 + place // 2) for place in range(4)]
    assert by_order(siblings((LAUNCHER, second, *ranks), 4), 4) == {40: 0, 41: 1, 42: 2, 43: 3}
    assert by_order(siblings((LAUNCHER, second, *ranks), None), None) == {}


def test_the_log_that_each_writes_alone_tells_its_rank() -> None:
    assert said([child(40, 110, log_rank=1), child(41, 111, log_rank=0)]) == {40: 1, 41: 0}


def test_a_hub_started_before_the_ranks_takes_no_number() -> None:
    hub = child(39, 105)
    entries = {39: "hub", 40: "rank_main", 41: "rank_main", 42: "rank_main"}
    assert by_order(siblings((LAUNCHER, hub, *FORKS), 3, entries), 3) == {41: 0, 40: 1, 42: 2}
    assert by_order(siblings((LAUNCHER, hub, *FORKS), None, entries), None, meets=True) == {41: 0, 40: 1, 42: 2}


def test_children_with_a_command_of_their_own_are_like_each_other() -> None:
    children = [child(40 + place, 110 + place, command="python train.py --worker") for place in range(3)]
    assert by_order(siblings((LAUNCHER, *children, child(50, 109, command="tee x"))), 3) == {40: 0, 41: 1, 42: 2}


def test_who_forked_the_others_is_rank_0_where_the_log_counts_one_more() -> None:
    crew = siblings((LAUNCHER, *FORKS))
    assert by_order(with_parent(crew, LAUNCHER, 4), 4) == {10: 0, 41: 1, 40: 2, 42: 3}
    assert with_parent(crew, LAUNCHER, 3) == crew == with_parent(crew, None, 4)


def test_an_option_that_all_share_is_nobodys_number() -> None:
    forks = [child(40 + place, 110 + place, command="python train.py --rank 3") for place in range(2)]
    launcher = Process(10, 1.0, 100, 1, "python", "python train.py --rank 3", "S")
    assert by_order(siblings((launcher, *forks)), 2) == {40: 0, 41: 1}


@pytest.mark.parametrize(
    ("here", "world", "missing"),
    [
        ({0, 1, 3}, 4, (2,)),
        ({0, 1, 2}, 4, (3,)),
        ({1, 2, 3}, 4, (0,)),
        ({0, 1, 2, 3}, 8, ()),
        ({4, 5, 7}, 8, (6,)),
        ({8, 9, 10, 11}, 16, ()),
        ({0}, 4, ()),
        ({0, 1, 2, 3}, None, ()),
    ],
)
def test_a_missing_rank_was_here_only_where_it_cannot_be_elsewhere(
    here: set[int], world: int | None, missing: tuple[int, ...]
) -> None:
    assert missing_here(here, world) == missing


def test_a_zombie_among_ranks_takes_the_number_that_is_missing() -> None:
    ranks = {rank: child(50 + rank, 110 + rank, rank=rank, role="rank", world=4) for rank in (0, 1, 3)}
    zombie = child(52, 112, state="Z", command="")
    assert dead((LAUNCHER, *ranks.values(), zombie), ranks, 4) == {52: 2}
    assert dead((LAUNCHER, *ranks.values(), zombie, child(60, 200, state="Z")), ranks, 4) == {}
