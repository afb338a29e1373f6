"""Counters of a process become rates, letters become shares of a window."""

from __future__ import annotations

import pytest

from hangtop.system.processes.rates import WINDOW_S, RateHistory, Sample, stored, window_s
from hangtop.system.processes.table import Details, Stat


def stat(state: str = "S", cpu_ticks: int = 0) -> Stat:
    return Stat(7, "python", state, 1, 7, 7, 100, cpu_ticks)


def history(*samples: Sample) -> RateHistory:
    known = RateHistory(ticks_per_s=100)
    for sample in samples:
        known.add(sample)
    return known


def test_one_look_gives_no_rate() -> None:
    known = history(Sample(0.0, stat()))
    assert (known.cpu_percent, known.recent(), known.rate(stored)) == (None, None, None)


def test_cpu_is_of_one_core_over_the_last_two_looks_and_over_the_window() -> None:
    known = history(Sample(0.0, stat("R", 0)), Sample(1.0, stat("R", 100)), Sample(2.0, stat("R", 150)))
    recent = known.recent()
    assert known.cpu_percent == 50.0
    assert recent is not None
    assert (recent.cpu_percent, recent.running_part, recent.samples, recent.seconds) == (75.0, 1.0, 3, 2.0)


def test_a_read_that_goes_on_is_in_state_d_and_moves_bytes() -> None:
    looks = [Sample(float(t), stat("D"), Details(wchan="folio_wait", read_bytes=t * 3_000_000, write_bytes=0)) for t in range(5)]
    recent = history(*looks).recent()
    assert recent is not None
    assert (recent.blocked_part, recent.wchan, recent.io_b_s) == (1.0, "folio_wait", 3_000_000.0)


def test_a_wait_channel_that_changes_is_none() -> None:
    looks = [Sample(float(t), stat("D"), Details(wchan=f"wait_{t}")) for t in range(3)]
    recent = history(*looks).recent()
    assert recent is not None
    assert recent.wchan is None


def test_switches_own_time_and_delay_are_of_the_main_thread_a_second() -> None:
    first, last = (
        Details(switches=10, main_cpu_ns=0, run_delay_ns=0, passed_bytes=5),
        Details(switches=110, main_cpu_ns=10**7, run_delay_ns=5 * 10**8, passed_bytes=1_005),
    )
    recent = history(Sample(0.0, stat(), first), Sample(0.5, stat()), Sample(1.0, stat(), last)).recent()
    assert recent is not None
    assert (recent.switches_s, recent.passed_b_s) == (100.0, 1_000.0)
    assert (recent.main_cpu_part, recent.delay_part) == (0.01, 0.5)


def test_counters_that_may_not_be_read_stay_unknown() -> None:
    recent = history(*(Sample(float(t), stat(), Details(switches=1)) for t in range(3))).recent()
    assert recent is not None
    assert (recent.io_b_s, recent.passed_b_s, recent.delay_part, recent.switches_s) == (None, None, None, 0.0)


def test_rates_come_from_the_looks_that_asked_for_them() -> None:
    asked = [Sample(float(t), stat(), Details(read_bytes=t * 100) if t % 5 == 0 else None) for t in range(13)]
    assert history(*asked).rate(lambda details: details.read_bytes) == 100.0


@pytest.mark.parametrize("last", [WINDOW_S - 1, WINDOW_S + 20])
def test_the_window_forgets_what_is_older(last: float) -> None:
    looks = [Sample(float(t), stat("R" if t < 10 else "S")) for t in range(int(last) + 1)]
    recent = history(*looks).recent()
    assert recent is not None
    assert recent.seconds <= WINDOW_S + 1
    assert (recent.running_part == 0.0) == (last > WINDOW_S + 10)


def test_since_when_a_state_stands_is_kept_and_starts_anew_with_the_state_or_the_wait_channel() -> None:
    known = history(
        Sample(1.0, stat("S")), Sample(2.0, stat("D"), Details(wchan="a")), Sample(3.0, stat("D"), Details(wchan="a"))
    )
    assert known.state_since == 2.0
    known.add(Sample(4.0, stat("D"), Details(wchan="b")))
    assert known.state_since == 4.0
    known.add(Sample(5.0, stat("S")))
    assert known.state_since == 5.0


def test_a_young_process_is_judged_since_its_start_and_an_old_one_not() -> None:
    once = history(Sample(12.0, stat("R", 150)))
    assert once.cpu_percent_since(started_at=10.0) == 75.0
    assert once.cpu_percent_since(started_at=1.0) is None
    twice = history(Sample(12.0, stat("R", 150)), Sample(13.0, stat("S", 150)))
    assert twice.cpu_percent_since(started_at=10.0) == 0.0


def test_children_that_ended_meanwhile_count_but_not_for_more_than_a_core() -> None:
    def parent(reaped_ticks: int) -> Stat:
        return Stat(7, "python", "S", 1, 7, 7, 100, reaped_ticks=reaped_ticks)

    assert history(Sample(0.0, parent(0)), Sample(2.0, parent(120))).reaped_percent == 60.0
    assert history(Sample(0.0, parent(0)), Sample(2.0, parent(90_000))).reaped_percent == 100.0
    assert history(Sample(0.0, parent(90_000))).reaped_percent is None


def test_a_short_stall_limit_has_a_short_window_so_that_the_time_before_a_silence_does_not_count_as_life() -> None:
    assert [window_s(stall_s) for stall_s in (2.0, 10.0, 30.0, 120.0, 600.0)] == [5.0, 5.0, 15.0, WINDOW_S, WINDOW_S]
