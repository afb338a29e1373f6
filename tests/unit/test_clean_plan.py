"""The plan to clean up never holds a process that may be a run of its own, is another user's, young, or still writes."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from hangtop.actions.plans.clean_plan import clean_plan
from hangtop.diagnosis.facts.leftover_members import PARTS
from hangtop.records.plan import LeftAlone, LeftoversReading, OwnProcess, Plan, Refusal, Removal
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.state.run_state import RunState

ME = OwnProcess(pid=50, ancestors=frozenset({1, 40, 45}), uid=1000)
NOW = 10_000.0
SEGMENT = Removal("/dev/shm/nccl-1", "shared memory", 1, 2, 1000, 3, 4.0, 4096)


def orphan(pid: int, ppid: int = 1, **more: object) -> Process:
    given = {"started_at": 1.0, "name": "python", "uid": 1000, "command": "python x.py", "state": "S", "role": "rank", **more}
    return Process(**{"pid": pid, "ppid": ppid, "start_ticks": pid, **given})  # type: ignore[arg-type]


def state(*orphans: Process) -> RunState:
    return RunState(procs=ProcessReading(orphans=orphans))


def test_files_and_processes_are_one_plan_that_wants_its_word_typed() -> None:
    made = clean_plan(state(orphan(100), orphan(101, 100, role="data worker")), LeftoversReading(1, (SEGMENT,)), ME, NOW, 600.0)
    assert isinstance(made, Plan)
    assert made.title == "Clean leftovers of dead runs: 2 processes, 1 path"
    assert [target.pid for target in made.targets] == [101, 100]
    assert made.removals == (SEGMENT,)
    assert made.word == "clean"


def test_one_that_may_be_a_run_of_its_own_stays_with_all_below_it() -> None:
    family = (orphan(100, role="other"), orphan(101, 100, role="data worker"), orphan(102, 101))
    made = clean_plan(state(*family, orphan(200)), LeftoversReading(1), ME, NOW, 600.0)
    assert isinstance(made, Plan)
    assert [target.pid for target in made.targets] == [200]
    assert made.spared[0].why == "it may be a run of its own: hangtop stop --pid 100"
    assert "stays" in made.spared[1].why


def test_one_that_writes_or_is_young_or_is_anothers_stays() -> None:
    orphans = (orphan(100), orphan(101, started_at=NOW - 30.0), orphan(102, uid=7, user="bob"), orphan(45))
    made = clean_plan(state(*orphans), LeftoversReading(1, (SEGMENT,), writing={100: "/runs/train.log"}), ME, NOW, 600.0)
    assert isinstance(made, Plan)
    assert made.targets == ()
    assert [spared.why for spared in made.spared] == [
        "it lost its parent, but writes to /runs/train.log",
        "started 30s ago",
        "it belongs to bob",
        "hangtop runs below it: your shell or session",
    ]


def test_what_the_watched_run_left_behind_goes_however_young_but_not_while_it_writes() -> None:
    writer = Writer(7, NOW - 60.0, "python", "python train.py", alive=False, gone_at=NOW - 10.0)
    left = (orphan(100, started_at=NOW - 30.0, role="other"), orphan(101, started_at=NOW - 30.0))
    ended = RunState(procs=ProcessReading(writers=(writer,), processes=left))
    made = clean_plan(ended, LeftoversReading(1, writing={101: "/runs/x.pt"}), ME, NOW, 600.0)
    assert isinstance(made, Plan)
    assert [target.pid for target in made.targets] == [100]
    assert [spared.why for spared in made.spared] == ["it lost its parent, but writes to /runs/x.pt"]


def test_nothing_to_clean_is_said_with_what_looked_like_it() -> None:
    kept = (LeftAlone("/dev/shm/psm_1", "in use by pid 7"),)
    refused = clean_plan(state(), LeftoversReading(1, kept=kept), ME, NOW, 600.0)
    assert isinstance(refused, Refusal)
    assert refused.why.endswith("1 thing looked like it: /dev/shm/psm_1: in use by pid 7")
    problem = clean_plan(state(), LeftoversReading(1, problem="Linux only"), ME, NOW, 600.0)
    assert problem == Refusal("Linux only")


def family(seed: int) -> tuple[tuple[Process, ...], dict[int, str]]:
    """Orphans, parents before children, with random users, roles, ages and states; and which of them write to a file."""
    chance = Random(seed)
    pids = sorted(chance.sample(range(61), chance.randint(1, 20)))
    orphans = tuple(
        orphan(
            pid,
            chance.choice([1, *pids[:place]]),
            uid=chance.choice([None, 0, 1000]),
            state=chance.choice("RSDZT"),
            role=chance.choice(["rank", "data worker", "ray daemon", "engine core", "launcher", "other"]),
            started_at=chance.choice([1.0, NOW - 5.0]),
        )
        for place, pid in enumerate(pids)
    )
    return orphans, dict.fromkeys(chance.choices(pids, k=chance.randint(0, 3)), "/x.log")


@settings(max_examples=1_500, deadline=None)
@given(st.integers(0, 2**32))
def test_no_family_makes_a_plan_that_ends_what_may_live(seed: int) -> None:
    orphans, writing = family(seed)
    made = clean_plan(state(*orphans), LeftoversReading(1, (SEGMENT,), writing=writing), ME, NOW, 600.0)
    assert isinstance(made, Plan)
    known = {process.pid: process for process in orphans}
    targets = {target.pid for target in made.targets}
    assert targets.isdisjoint({0, 1, ME.pid, *ME.ancestors})
    for pid in targets:
        process = known[pid]
        assert (process.uid, process.state == "Z") == (1000, False)
        assert NOW - process.started_at >= 600.0
        assert process.ppid in targets or (process.ppid not in known and process.role in (*PARTS, "ray daemon"))
        top = process
        while top.ppid in known:
            top = known[top.ppid]
        assert top.role == "ray daemon" or (process.role != "ray daemon" and pid not in writing)
    assert len(targets) + len(made.spared) == len(orphans)
