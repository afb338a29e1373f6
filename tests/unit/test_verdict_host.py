"""What the machine says of a run: limits that fill, kills for want of memory, memory that grows; and who was lost meanwhile."""

from __future__ import annotations

import time
from typing import Any

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.facts.machine_evidence import G, full_disks, host_evidence
from hangtop.diagnosis.judge import diagnose
from hangtop.records.host import Disk, HostReading
from hangtop.records.log import Pace
from hangtop.records.process import ProcessReading
from hangtop.records.reading import Reading
from hangtop.state.run_state import RunState, fold
from tests.fakes.members import ALL_REDUCE, NOW, SPEC, process, run

USUAL = HostReading(8, memory_bytes=100 * G, available_bytes=50 * G)


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def without_rank_2(silence_s: float, machine: HostReading | None = None, **dead: Any) -> RunState:
    left = tuple(process(rank) for rank in (0, 1, 3))
    gone = process(2, state="X", **{"exit_code": -9, "state_since": NOW - 40, **dead})
    procs = ProcessReading(processes=left, ended=(gone,))
    return run(dict.fromkeys((0, 1, 3), ALL_REDUCE), left, procs=procs, silence_s=silence_s, machine=machine)


@pytest.mark.parametrize(
    ("machine", "exit_code", "starved"),
    [
        (replace(USUAL, oom_at=NOW - 45), -9, True),
        (replace(USUAL, oom_at=NOW - 45), 1, False),
        (replace(USUAL, oom_at=NOW - 3_000), -9, False),
        (replace(USUAL, oom_kills=4), -9, False),
    ],
    ids=["at that moment", "it left by itself", "long before", "on the machine, nobody knows when"],
)
def test_a_rank_was_killed_for_want_of_memory_when_the_kernel_killed_at_that_moment(
    machine: HostReading, exit_code: int, starved: bool
) -> None:
    verdict = diagnose(without_rank_2(30, machine, exit_code=exit_code), SPEC, NOW)
    assert (verdict.word, "want of memory" in verdict.headline) == ("crashed", starved)


def test_a_limit_that_killed_before_the_watch_is_told_beside_and_decides_nothing() -> None:
    verdict = diagnose(without_rank_2(30, replace(USUAL, cgroup_limit_bytes=2 * G, oom_kills=1)), SPEC, NOW)
    assert "killed by SIGKILL" in verdict.headline
    told = [(fact.text, fact.supports) for fact in verdict.evidence if fact.source == "host"]
    assert told == [("the run's memory limit of 2.0 G has killed 1 process", None)]


def test_a_rank_that_died_while_the_others_write_on_is_named_in_a_run_that_runs() -> None:
    verdict = diagnose(without_rank_2(1), SPEC, NOW)
    assert (verdict.word, verdict.headline) == ("running", "Rank 2 died (killed by SIGKILL); the others go on.")
    assert [(culprit.rank, culprit.confidence) for culprit in verdict.culprits] == [(2, "certain")]


def test_a_rank_that_ended_well_is_no_loss() -> None:
    assert diagnose(without_rank_2(1, exit_code=0), SPEC, NOW).culprits == ()


def test_a_launcher_that_was_killed_is_told_while_its_ranks_go_on() -> None:
    left = tuple(process(rank, ppid=1) for rank in range(4))
    launcher = replace(process(0), pid=99, rank=None, role="launcher", state="X", exit_code=-9, state_since=NOW - 5)
    state = run(dict.fromkeys(range(4), ALL_REDUCE), left, procs=ProcessReading(processes=left, ended=(launcher,)), silence_s=1)
    verdict = diagnose(state, SPEC, NOW)
    assert (verdict.word, verdict.headline) == ("running", "The launcher is gone (killed by SIGKILL); 4 ranks run on without it.")
    assert verdict.evidence[0].text == "launcher, pid 99: killed by SIGKILL at 02:46:35"
    under = (replace(launcher, pid=98, state="S", exit_code=None), *(replace(survivor, ppid=98) for survivor in left))
    still = replace(state, procs=ProcessReading(processes=under, ended=(launcher,)))
    assert diagnose(still, SPEC, NOW).headline == "Starting."  # only who started their launcher is gone


def test_a_disk_without_inodes_is_told_whatever_space_is_free() -> None:
    disks = (Disk("/a", G, G // 2, files_free_part=0.01), Disk("/b", G, G // 2, files_free_part=0.5), Disk("/c", G, G // 2))
    assert list(full_disks(replace(USUAL, disks=disks))) == [
        "/a 99% of its inodes used: once none is left no file can be made, whatever space is free"
    ]


@pytest.mark.parametrize("word", ["running", "stalled"])
def test_memory_and_disks_that_fill_are_evidence_whatever_the_verdict(word: str) -> None:
    machine = replace(
        USUAL,
        cgroup_limit_bytes=10 * G,
        cgroup_used_bytes=int(9.5 * G),
        disks=(Disk("/dev/shm", G, 0), Disk("/", G, G // 2)),
    )
    processes = (replace(process(0), recent=None),)
    state = run({}, processes, silence_s=1 if word == "running" else 300, machine=machine)
    verdict = diagnose(state, SPEC, NOW)
    assert verdict.word == word
    assert [fact.text for fact in verdict.evidence if fact.source == "host"] == [
        "memory 95% of the limit of 10.0 G",
        "/dev/shm 100% full, 0 B free",
    ]


@pytest.mark.parametrize(
    ("free", "growth_b_s", "told"),
    [
        (900 * G, 2 * G, ()),
        (100 * G, 2 * G, ("/data 90% full, 100 G free, full in 50s",)),
        (190 * G, 0.25 * G, ("/data 81% full, 190 G free, full in 12:40",)),
        (60 * G, 0.0, ()),
        (40 * G, 0.0, ("/data 96% full, 40.0 G free",)),
    ],
    ids=["a save on a disk with room", "full at once", "full soon", "nearly full and still", "full"],
)
def test_a_disk_is_told_when_it_is_full_or_will_be_soon(free: int, growth_b_s: float, told: tuple[str, ...]) -> None:
    state = RunState(machine=replace(USUAL, disks=(Disk("/data", 1_000 * G, free, growth_b_s),)))
    assert tuple(fact.text for fact in host_evidence(state, NOW)) == told


def grown(seconds: int, by_s: dict[int, float], machine: HostReading = USUAL) -> RunState:
    """Looked at every ten seconds; each rank's memory grows by so many bytes a second."""
    state = fold(RunState(), Reading("procs", "n1", 0.0, machine))
    for at in range(0, seconds, 10):
        ranks = tuple(process(rank, rss_bytes=int(4 * G + rate * at)) for rank, rate in by_s.items())
        state = fold(state, Reading("procs", "n1", float(at), ProcessReading(processes=ranks)))
    return state


def test_a_rank_whose_memory_grows_through_the_watch_is_named_with_its_slope_and_when_it_is_full() -> None:
    assert host_evidence(grown(1_800, {0: 0.0, 1: G / 7200, 2: 0.0}), NOW) == ()
    slow = grown(1_800, {0: 0.0, 1: G / 3600, 2: 0.0})
    assert [fact.text for fact in host_evidence(slow, NOW)] == ["rank 1: memory grows by 1.0 G an hour"]
    leak = grown(1_800, {0: 0.0, 1: 7 * G / 3600, 2: 0.0})
    assert [fact.text for fact in host_evidence(leak, NOW)] == ["rank 1: memory grows by 7.0 G an hour, full in 7h08"]


def test_the_slope_is_told_for_each_step_too() -> None:
    """As far as the log tells how long a step takes."""
    leak = grown(1_800, {0: 0.0, 1: 7 * G / 3600, 2: 0.0})
    assert run({}, ()).log is not None
    paced = replace(leak, log=replace(run({}, ()).log, pace=Pace(steps=90, mean_s=12.0)))
    assert [fact.text for fact in host_evidence(paced, NOW)] == [
        "rank 1: memory grows by 7.0 G an hour (23.9 M a step), full in 7h08"
    ]


def test_ranks_that_all_grow_are_told_together_and_a_start_is_no_leak() -> None:
    both = grown(1_800, {0: 2 * G / 3600, 1: 3.1 * G / 3600}, replace(USUAL, cgroup_limit_bytes=10 * G, cgroup_used_bytes=9 * G))
    assert [fact.text for fact in host_evidence(both, NOW)] == [
        "ranks 0-1: memory grows by 3.1 G an hour each, full in 11:40",
    ]
    assert host_evidence(grown(400, {0: 5 * G / 3600}), NOW) == ()
