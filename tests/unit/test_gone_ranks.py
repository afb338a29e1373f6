"""A rank that is gone without a word: a zombie beside the others, or a pid that the log names and no process has."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.records.log import LogLine
from hangtop.records.process import Process, ProcessReading
from hangtop.records.stack import Frame
from hangtop.records.verdict import Verdict
from hangtop.records.waiting import OtherEnd, WaitObject
from hangtop.state.run_state import RunState
from tests.fakes.members import BUSY, IDLE, LOCK, NOW, PACK, SPEC, four, process, run, thread
from tests.fakes.waited import waits, watch, watched

PARENT = Process(99, 1.0, 1, 1, "python", "python parent.py", "S", recent=IDLE)
BARRIER = thread(Frame("barrier", "/home/me/w.py", 6), wait="sleep")
RECEIVES = thread(Frame("_recv", "/usr/lib/python3.11/multiprocessing/connection.py", 383), wait="pipe")


def worker(number: int, command: str = "python w.py {}", **more: object) -> Process:
    known = replace(process(number, IDLE), role="other", rank=None, world=None, command=command.format(number))
    return replace(known, **more)  # type: ignore[arg-type]


def zombie(number: int, code: int | None, start_ticks: int = 7) -> Process:
    return worker(number, "[python]", state="Z", exit_code=code, start_ticks=start_ticks, recent=None)


def told_of(*processes: Process, does: object = BARRIER, **state: object) -> Verdict:
    living = {each.pid - 100: does for each in processes if not each.exited}
    known = run(living, (PARENT, *processes), **state)  # type: ignore[arg-type]
    return diagnose(replace(known, ranks={}), SPEC, NOW)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_zombie_that_failed_beside_numbered_siblings_is_the_rank_that_is_missing(place: int) -> None:
    others = [worker(number) for number in range(3) if number != place]
    verdict = told_of(*others, zombie(place, 1))
    assert (verdict.word, verdict.kind) == ("crashed", "dead_process")
    if place:  # without the first one the others may be numbered from 1
        assert [(culprit.rank, culprit.pid) for culprit in verdict.culprits] == [(place, 100 + place)]


def test_a_rank_that_died_is_a_crash_and_one_that_was_done_early_leaves_a_hang() -> None:
    assert [diagnose(four(LOCK, process(2, state="Z", exit_code=code)), SPEC, NOW).word for code in (-9, 1, None, 0)] == [
        "crashed",
        "crashed",
        "crashed",
        "hung",
    ]


def test_a_helper_that_ended_well_beside_the_ranks_is_none_that_died() -> None:
    assert told_of(worker(0), worker(1), zombie(2, 0)).kind != "dead_process"


def test_jobs_of_their_own_go_on_when_one_of_them_has_died() -> None:
    busy = [worker(number, recent=BUSY, state="R", cpu_percent=98.0, subtree_cpu_percent=98.0) for number in range(2)]
    assert told_of(*busy, zombie(2, 1), does=PACK).word != "hung"


def line(offset: int, text: str) -> LogLine:
    return LogLine(0, offset, NOW - 300, None, "", text)


def named(state: RunState, *texts: str) -> Verdict:
    tail = tuple(line(100 * place, text) for place, text in enumerate(texts))
    return diagnose(replace(state, ranks={}, tail=tail), SPEC, NOW)


UP = tuple(f"worker {number} started, pid {100 + number}" for number in range(3))


def left(does: object = BARRIER) -> RunState:
    """Worker 1 is gone, and its parent has reaped it."""
    return run({0: does, 2: does}, (worker(0, "python w.py"), worker(2, "python w.py")))  # type: ignore[dict-item]


def test_a_pid_that_the_log_names_beside_these_of_the_living_is_a_process_that_is_gone() -> None:
    verdict = named(left(), *UP)
    assert (verdict.word, verdict.kind) == ("crashed", "dead_process")
    assert [culprit.pid for culprit in verdict.culprits] == [101]


def test_kinds_of_processes_are_named_in_one_form() -> None:
    assert [
        culprit.pid for culprit in named(left(), "actor 0 up, pid 100", "actor 2 up, pid 102", "learner 0 up, pid 101").culprits
    ] == [101]


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param((*UP, "worker 1 started, pid 102"), id="it was started again"),
        pytest.param(
            ("[w-0] pid 100", "[w-1] pid 101", "w-1 restarted as pid 102"),
            id="its name goes on with another pid",
        ),
        pytest.param(("helper pid 55",), id="nothing tells whose pid it is"),
        pytest.param([f"worker {number} started, pid {number + 5}" for number in range(3)], id="pids of another machine"),
    ],
)
def test_a_pid_alone_proves_nothing(texts: tuple[str, ...]) -> None:
    assert named(left(), *texts).kind != "dead_process"


def test_what_the_kernel_tells_of_a_wait_is_nearer_to_the_cause_than_a_pid_that_is_gone() -> None:
    fifo = OtherEnd(WaitObject("fifo", writes=True, inode=4, path="/tmp/go"))
    assert [culprit.pid for culprit in named(left(RECEIVES), *UP).culprits] == [101]
    beings = tuple(watched(pid, waits(pid, fifo, kind="open")) for pid in (100, 102))
    told = named(replace(left(RECEIVES), waits=watch(*beings, at=NOW - 10)), *UP)
    assert (told.word, [culprit.pid for culprit in told.culprits]) == ("hung", [100, 102])


def test_one_that_stands_for_its_own_sake_is_nearer_to_the_cause_than_a_pid_that_is_gone() -> None:
    assert named(left(LOCK), *UP).kind != "dead_process"


POOL = "/usr/lib/python3.11/multiprocessing/pool.py"
WANTS = thread(Frame("ApplyResult.get", POOL, 768), Frame("Pool.map", POOL, 367), wait="lock")
NO_WORK = thread(Frame("worker", POOL, 114), wait="pipe")


def pool(*does: object) -> Verdict:
    """A program waits for what its pool gives; the log names a worker that is gone beside these that live."""
    living = dict(enumerate((WANTS, *does)))
    workers = tuple(worker(number, "python w.py", ppid=100) for number in range(1, len(living)))
    state = run(living, (worker(0, "python w.py"), *workers))  # type: ignore[arg-type]
    return named(state, *(f"worker {number} up, pid {100 + number}" for number in (1, 2, 5)))


def test_a_worker_of_a_pool_that_is_gone_took_its_task_along_where_all_others_have_none() -> None:
    told = pool(NO_WORK, NO_WORK)
    assert (told.word, told.kind, [culprit.pid for culprit in told.culprits]) == ("crashed", "dead_process", [105])
    assert pool(NO_WORK, LOCK).kind != "dead_process", "one stands with its task"
    assert pool(NO_WORK, PACK).kind != "dead_process", "one may work on its task"


def test_a_lone_process_that_waits_for_a_child_that_failed_is_not_to_blame_itself() -> None:
    parent = worker(0, "python train.py")
    child = replace(zombie(1, -9), ppid=100)
    state = run({0: RECEIVES}, (parent, child), procs=ProcessReading(processes=(parent, child)))
    verdict = diagnose(replace(state, ranks={}), SPEC, NOW)
    assert (verdict.word, verdict.kind) == ("crashed", "dead_process")
    assert [culprit.pid for culprit in verdict.culprits] == [101]


@pytest.mark.parametrize(("world", "before_s"), [(2, 0.0), (None, 300.0)], ids=["no rank is missing", "it began long before"])
def test_what_their_parent_started_for_something_else_and_did_not_reap_is_no_rank(world: int | None, before_s: float) -> None:
    ranks = tuple(replace(process(number), ppid=99, world=world, started_at=1_000.0) for number in range(2))
    other = replace(zombie(5, -9), ppid=99, name=ranks[0].name, started_at=1_000.0 - before_s)
    assert diagnose(run({0: BARRIER, 1: LOCK}, (PARENT, *ranks, other)), SPEC, NOW).kind != "dead_process"
    beside = replace(other, started_at=1_000.0)
    missing = tuple(replace(rank, world=None) for rank in ranks)
    assert diagnose(run({0: BARRIER, 1: LOCK}, (PARENT, *missing, beside)), SPEC, NOW).kind == "dead_process"
