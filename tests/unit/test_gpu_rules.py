"""What the GPUs say of a run, judged against each other: busy-waiting, the odd one out, leaks, words for the silent."""

from __future__ import annotations

from typing import Any

import pytest

from hangtop.common.text import clock
from hangtop.diagnosis.facts.gpu_evidence import gpu_evidence, lasting_evidence
from hangtop.diagnosis.facts.gpu_outliers import GpuFact, busy_waits, facts, lasting, status_now, status_words
from hangtop.diagnosis.members.rank_gpus import gpus_of, memory_of
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading, NodeGpus
from hangtop.records.samples import SLOTS, Samples, add_whole, growth
from hangtop.state.gpu_history import fold_gpus
from hangtop.state.run_state import RunState

G = 2**30
START = 1_000_000.0


def gpu(index: int, at: float = START, **values: Any) -> Gpu:
    """A busy H100 of a run that is well."""
    well: dict[str, Any] = {
        "status": "ok", "read_at": at, "uuid": f"GPU-{index}", "limit_w": 700.0, "util_percent": 97.0,
        "power_w": 610.0, "used_bytes": 61 * G, "temperature_c": 62.0, "minor": index,
    }  # fmt: skip
    return Gpu(index, **{**well, **values})


def node(*gpus: Gpu, at: float = START, before: NodeGpus | None = None, **reading: Any) -> NodeGpus:
    return fold_gpus(before, GpuReading(gpus=gpus, **reading), at)


def said(node: NodeGpus, now: float = START) -> list[tuple[int, str]]:
    return [(fact.index, fact.kind) for fact in facts(node, now)]


def texts(node: NodeGpus, now: float = START) -> list[tuple[str, bool | None]]:
    return [(evidence.text, evidence.supports) for evidence in gpu_evidence(RunState(gpus={"n1": node}), now)]


def test_full_utilisation_at_low_power_is_busy_waiting_and_a_matmul_is_not() -> None:
    assert busy_waits(gpu(0, util_percent=100, power_w=92))
    assert busy_waits(gpu(0, util_percent=96, power_w=152))  # nccl#1550
    assert not busy_waits(gpu(0, util_percent=100, power_w=610))
    assert not busy_waits(gpu(0, util_percent=40, power_w=120))
    assert not busy_waits(gpu(0, util_percent=100, power_w=None))
    assert not busy_waits(gpu(0, util_percent=100, power_w=92, limit_w=None))


def test_a_run_that_is_well_has_nothing_to_say() -> None:
    assert facts(node(*(gpu(i) for i in range(8))), START) == ()


def test_the_idle_one_among_gpus_that_spin_is_the_odd_one() -> None:
    hung = node(*(gpu(i, util_percent=0 if i == 3 else 100, power_w=71 if i == 3 else 92) for i in range(8)))
    assert said(hung)[0] == (3, "idle")
    assert said(hung)[1:] == [(i, "busy-wait") for i in (0, 1, 2, 4, 5, 6, 7)]


def test_a_spare_gpu_is_not_an_idle_one() -> None:
    spare = gpu(7, util_percent=0, power_w=70, used_bytes=400 << 20)
    assert facts(node(*(gpu(i) for i in range(7)), spare), START) == ()


def test_half_the_gpus_at_zero_make_none_of_them_odd() -> None:
    half = node(*(gpu(i, util_percent=0 if i < 4 else 97) for i in range(8)))
    assert facts(half, START) == ()


def test_only_gpus_of_the_run_are_compared() -> None:
    shared = node(*(gpu(i, util_percent=0 if i == 0 else 97) for i in range(8)))
    assert said(shared) == [(0, "idle")]
    assert facts(shared, START, of_run={1, 2, 3}) == ()


def test_a_gpu_that_was_freed_while_the_others_hold_their_memory_is_empty() -> None:
    well = node(*(gpu(i) for i in range(4)))
    died = node(*(gpu(i, used_bytes=600 << 20 if i == 1 else 61 * G, at=START + 1) for i in range(4)), at=START + 1, before=well)
    assert said(died, START + 1) == [(1, "empty")]
    ended = node(*(gpu(i, used_bytes=600 << 20, at=START + 1) for i in range(4)), at=START + 1, before=well)
    assert said(ended, START + 1) == []


def test_little_memory_and_heat_stand_out_only_against_the_others() -> None:
    assert said(node(*(gpu(i, used_bytes=(12 if i == 2 else 61) * G) for i in range(4)))) == [(2, "little memory")]
    assert said(node(*(gpu(i, temperature_c=83 if i == 2 else 60) for i in range(4)))) == [(2, "hot")]
    assert said(node(*(gpu(i, temperature_c=83) for i in range(4)))) == []
    held_back = node(*(gpu(i, throttle=("hot (hardware)",) if i == 1 else ("power cap",)) for i in range(4)))
    assert facts(held_back, START) == (GpuFact(1, "hot", "62 °C, held back: hot (hardware)"),)


def test_a_moment_of_waiting_within_a_step_is_not_busy_waiting() -> None:
    known: NodeGpus | None = None
    for second in range(60):
        at = START + second
        waits = second == 59
        known = node(gpu(0, at, util_percent=100, power_w=90 if waits else 600), at=at, before=known)
    assert known is not None
    assert facts(known, START + 59) == ()


def test_broken_gpus_have_words_of_their_own() -> None:
    assert status_words(gpu(0, status="lost", why="fell off the bus", xid=79), START) == "lost: fell off the bus (Xid 79)"
    assert status_words(gpu(0, status="unknown error", why="the driver gives no reason"), START).startswith("unknown error: ")
    assert status_words(gpu(0, status="reset needed", why="sudo nvidia-smi --gpu-reset"), START).startswith("reset needed: sudo")
    assert status_words(gpu(0, status="not supported"), START) == "not supported"
    broken = node(
        gpu(0, status="unknown error"),
        gpu(1, status="lost"),
        gpu(2, status="no answer", since=START),
        gpu(3, status="reset needed"),
    )
    assert said(broken) == [(1, "lost"), (3, "reset needed"), (2, "no answer"), (0, "unknown error")]


@pytest.mark.parametrize(("age_s", "status"), [(0, "ok"), (2.9, "ok"), (3.1, "late"), (10.1, "no answer")])
def test_values_that_nobody_renews_become_late_and_then_no_answer(age_s: float, status: str) -> None:
    assert status_now(gpu(0), START + age_s) == status


def test_slow_answers_stay_late_however_slow() -> None:
    assert status_now(gpu(0, status="late"), START + 30) == "late"


def tracked(values: list[float]) -> Samples:
    samples = Samples(slot_s=10.0)
    for i, value in enumerate(values):
        samples = add_whole(samples, START + 60 * i, value)
    return samples


def test_steady_growth_is_a_leak_with_its_slope() -> None:
    assert growth(tracked([20 * G + i * 0.02 * G for i in range(120)]), least=256 << 20) == pytest.approx(1.2 * G, rel=0.05)


def test_level_memory_one_jump_and_a_short_watch_are_no_leak() -> None:
    assert growth(tracked([61 * G] * 120), least=256 << 20) is None
    assert growth(tracked([20 * G] * 60 + [61 * G] * 60), least=256 << 20) is None
    assert growth(tracked([20 * G + i * G for i in range(8)]), least=256 << 20) is None
    assert growth(tracked([61 * G - i * 0.1 * G for i in range(120)]), least=256 << 20) is None


def test_growth_over_a_day_is_still_seen_with_bounded_memory() -> None:
    day = tracked([20 * G + i * 0.001 * G for i in range(1440)])
    assert len(day.means) <= SLOTS
    assert growth(day, least=256 << 20) == pytest.approx(0.06 * G, rel=0.05)


def test_the_evidence_of_a_hung_collective_is_one_sentence() -> None:
    hung = node(*(gpu(i, util_percent=0 if i == 3 else 100, power_w=71 if i == 3 else 92) for i in range(8)))
    assert texts(hung) == [("GPUs 0-2 4-7 at 100 % but 13 % of power (busy-waiting); GPU 3 at 0 %", True)]


def test_normal_power_speaks_against_a_hang() -> None:
    assert texts(node(*(gpu(i) for i in range(8)))) == [("GPUs 0-7 at 97 % and 87 % of power", False)]


def test_silent_gpus_are_evidence_with_clock_times_and_no_ages() -> None:
    gpus = [gpu(i, status="no answer", since=START + (0 if i == 5 else 4)) for i in range(8)]
    whole = node(*gpus, stuck_since=START + 4)
    expected = f"GPU 5 silent since {clock(START)}, GPUs 0-4 6-7 since {clock(START + 4)} (the whole driver)"
    assert texts(whole, START + 40) == texts(whole, START + 50) == [(expected, True)]
    opening = fold_gpus(None, GpuReading(stuck_since=START, stuck_in="nvmlInit"), START + 12)
    assert texts(opening)[0][0] == f"the NVIDIA driver gives no answer since {clock(START)}: nvmlInit"


def test_processes_are_joined_to_gpus_by_the_drivers_list_or_by_their_open_devices() -> None:
    gpus = (gpu(0, processes=(GpuProcess(100, 5 * G), GpuProcess(7, 1, visible=False))), gpu(1), gpu(2))
    assert memory_of(gpus) == {100: {0: 5 * G}}
    parts = GpuProcess(100, 5 * G, instance=1), GpuProcess(100, 2 * G, instance=2), GpuProcess(200, None)
    assert memory_of((gpu(0, processes=parts),)) == {100: {0: 7 * G}, 200: {0: None}}
    assert gpus_of(100, gpus, devices=(1,)) == (0,)
    assert gpus_of(200, gpus, devices=(1,)) == (1,)
    assert gpus_of(200, gpus, devices=(0, 1, 2, 2)) == (2,)  # held most often
    assert gpus_of(200, gpus, devices=(0, 1, 2)) == ()
    assert gpus_of(200, gpus, devices=(0, 1, 2), visible_devices="2") == (2,)
    assert gpus_of(200, gpus, visible_devices="GPU-1") == (1,)


def test_minor_numbers_are_not_indices() -> None:
    assert gpus_of(9, (gpu(0, minor=1), gpu(1, minor=0)), devices=(0,)) == (1,)


ALL = range(4)
AFTER = START + 310


def minutes(seconds: int = 310, **odd: Any) -> NodeGpus:
    """Five minutes of four GPUs, of which number 3 is odd."""
    known: NodeGpus | None = None
    for second in range(0, seconds + 1, 5):
        at = START + second
        known = node(*(gpu(i, at=at, **(odd if i == 3 else {})) for i in range(4)), at=at, before=known)
    assert known is not None
    return known


def test_a_gpu_on_which_its_process_has_loaded_nothing_is_named_with_it() -> None:
    few = {"used_bytes": 450 << 20, "processes": (GpuProcess(4711, 440 << 20),)}
    found = facts(node(*(gpu(i, **(few if i == 2 else {})) for i in range(4))), START)
    assert found == (GpuFact(2, "little memory", "0.4 G, the others 61.0 G: pid 4711 has loaded nothing there"),)


@pytest.mark.parametrize(
    ("odd", "kind"),
    [
        ({"util_percent": 0.0}, "idle"),
        ({"used_bytes": 450 << 20, "util_percent": 40.0, "processes": (GpuProcess(4711, 440 << 20),)}, "little memory"),
    ],
)
def test_what_is_odd_for_minutes_is_named_while_the_run_goes_on(odd: dict[str, Any], kind: str) -> None:
    known = minutes(**odd)
    assert [(fact.index, fact.kind) for fact in lasting(known, AFTER, ALL)] == [(3, kind)]


def test_what_is_odd_on_a_gpu_that_is_not_known_for_the_runs_is_left_alone() -> None:
    known = minutes(util_percent=0.0)
    assert lasting(known, AFTER, ()) == lasting(known, AFTER, (0, 1, 2)) == ()
    assert lasting_evidence(RunState(gpus={"n1": known}), AFTER) == ()


def test_a_pause_of_a_gpu_and_a_run_that_is_well_last_not_long_enough() -> None:
    assert lasting(minutes(), AFTER, ALL) == ()
    resting = node(
        *(gpu(i, at=AFTER + 5, **({"util_percent": 0.0} if i == 3 else {})) for i in range(4)),
        at=AFTER + 5,
        before=minutes(),
    )
    assert lasting(resting, AFTER + 5, ALL) == ()
    assert lasting(minutes(150, util_percent=0.0), START + 150, ALL) == ()
    young = node(*(gpu(i, **({"util_percent": 0.0} if i == 3 else {})) for i in range(4)))
    assert lasting(young, START, ALL) == ()
