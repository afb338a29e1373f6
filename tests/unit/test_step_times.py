"""Where the time of a step goes, read from the lines of many trainers."""

from __future__ import annotations

import random

import pytest

from hangtop.logs.catalog.timing import RateLine, TimingLine, timings
from hangtop.records.log import LogReading
from hangtop.records.step_times import PartTime, Was
from tests.fakes.read_log import read


def clock(second: int) -> str:
    return f"2026-01-11 {10 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d},000"


def verl(steps: int, generation_s: list[float], *, noise: float = 0.0) -> str:
    """A step a minute; `generation_s`: by step, the last one goes on."""
    dice, text = random.Random(3), ""
    for step in range(1, steps + 1):
        gen = generation_s[min(step, len(generation_s)) - 1] * (1 + noise * dice.random())
        text += (
            f"(TaskRunner pid=7) {clock(60 * step)} step:{step} - actor/pg_loss:0.013 - timing_s/gen:{gen:.2f} - "
            f"timing_per_token_ms/gen:0.8 - timing_s/update_actor:12.0 - timing_s/ref:3.0 - timing_s/old_log_prob:3.0 - "
            f"timing_s/step:{gen + 20:.2f} - perf/throughput:812.3\n"
        )
    return text


def shares(reading: LogReading) -> dict[str, float]:
    return {part.part: round(part.share, 2) for part in reading.step_times.parts}


@pytest.mark.parametrize("form", timings().line, ids=lambda form: form.id)
def test_each_example_is_read_and_has_a_literal(form: TimingLine) -> None:
    assert any(literal in form.example for literal in form.literal)
    assert form.parts_s(form.example) or form.total_s(form.example)
    assert form.below is None or form.below in {other.id for other in timings().line}
    assert form.cite


@pytest.mark.parametrize("form", timings().rate, ids=lambda form: form.id)
def test_each_example_of_a_rate_is_read(form: RateLine) -> None:
    assert any(literal in form.example for literal in form.literal)
    assert form.tokens_s(form.example)


def test_a_share_that_grew_is_told_with_what_it_was_until_when() -> None:
    generation = read(verl(60, [10.0] * 40 + [40.0], noise=0.2)).step_times.parts[0]
    assert (generation.part, round(generation.share, 1), generation.was_s) == ("generation", 0.7, pytest.approx(11, abs=0.5))
    assert generation.was is not None
    assert (round(generation.was.value, 2), generation.was.until_step, generation.was.about) == (0.36, 40, False)


def test_what_varies_is_not_called_a_change() -> None:
    reading = read(verl(80, [10.0, 14.0, 9.0, 17.0, 12.0] * 16, noise=0.5))
    assert [part.was for part in reading.step_times.parts] == [None] * 3
    assert shares(reading)["logprobs"] == pytest.approx(6 / 35, abs=0.03)


def test_the_past_of_a_large_log_is_known_though_few_of_its_lines_are_read() -> None:
    pad = " - pad/x:1" * 60
    text = verl(3_000, [10.0] * 2_000 + [40.0], noise=0.2).replace(" - perf/", f"{pad} - perf/")
    was = read(text).step_times.parts[0].was
    assert was is not None
    assert was.until_step == pytest.approx(2_000, rel=0.1)
    assert was.about


def test_an_earlier_attempt_is_not_the_past_of_this_one() -> None:
    crash = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nRuntimeError: CUDA out of memory\n'
    start = "(TaskRunner pid=9) TaskRunner hostname: a, PID: 9\n"
    reading = read(verl(40, [10.0]) + crash + start + verl(20, [40.0]).replace("pid=7", "pid=9"))
    if reading.attempt == 2:
        assert reading.step_times.parts[0].was is None


def test_timers_below_a_line_are_of_its_step() -> None:
    text = "".join(
        f" [2026-01-11 10:00:{step:02d}.000000] iteration {step:8d}/   20000 | consumed samples: {step} | "
        f"elapsed time per iteration (ms): 300.0 | learning rate: 1e-5 | lm loss: 2.{step:02d}E+00 |\n"
        "(min, max) time across ranks (ms):\n"
        "    forward-backward ................................: (200.10, 240.00)\n"
        "    all-grads-sync ..................................: (0.10, 30.00)\n"
        "    optimizer-inner-step ............................: (9.10, 9.00)\n"
        "    optimizer .......................................: (9.10, 15.00)\n"
        for step in range(1, 20)
    )
    assert shares(read(text)) == {"training": 0.8, "sync": 0.1, "optimizer": 0.05}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "[{at}] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd_microstep: 1.0 | step_microstep: 7.0\n"
            "[{at}] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 25.0 | bwd: 70.0 | bwd_inner: 50.0 | "
            "bwd_allreduce: 20.0 | step: 5.0",
            {"backward": 0.5, "forward": 0.25, "sync": 0.2, "optimizer": 0.05},
        ),
        (
            "Global step {n}: {{'policy_loss': 0.1, 'timing/make_experience': 5.0, 'timing/generation': 30.0, "
            "'timing/ppo_train': 10.0, 'timing/step_total': 50.0}}",
            {"generation": 0.6, "training": 0.2, "logprobs": 0.1},
        ),
        (
            "{at} - mmengine - INFO - Epoch(train)  [3][{n}/1250]  lr: 4.0e-03  eta: 9:41:02  time: 0.4  data_time: 0.1  "
            "memory: 122  loss: 3.6175",
            {"data": 0.25},
        ),
        ("Epoch: [3][{n:4d}/5005]\tTime  0.400 ( 0.420)\tData  0.100 ( 0.012)\tLoss 6.90e+00 (6.5e+00)", {"data": 0.25}),
        ("{at} INFO train: epoch: 1/300, iter: {n}/3665, iter_time: 0.400s, data_time: 0.100s, total_loss: 3.1", {"data": 0.25}),
    ],
    ids=["deepspeed", "openrlhf", "mmengine", "imagenet", "yolox"],
)
def test_trainers(line: str, found: dict[str, float]) -> None:
    text = "".join(line.format(at=clock(30 * n), n=n) + "\n" for n in range(1, 20))
    assert shares(read(text)) == found


def test_times_without_a_whole_are_parts_of_the_time_between_steps() -> None:
    """As OpenRLHF printed them with --perf."""
    text = "".join(
        f"{clock(60 * step)} INFO Global step {step}: {{'policy_loss': 0.1, 'generate_time': 30.0, 'actor_time': 6.0}}\n"
        for step in range(1, 20)
    )
    assert shares(read(text)) == {"generation": 0.5, "logprobs": 0.1}


def test_tokens_a_second_of_an_engine_that_works() -> None:
    text = "".join(
        f"INFO {clock(10 * n)} loggers.py:127] Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: "
        f"{0 if n % 4 == 0 else 400 + n % 3 if n < 40 else 80 + n % 3}.0 tokens/s, Running: 3 reqs\n"
        for n in range(1, 80)
    )
    times = read(text).step_times
    assert (times.tokens_s, times.parts) == (pytest.approx(81, abs=1), ())
    assert times.tokens_were is not None
    assert times.tokens_were.value == pytest.approx(401, abs=1)


def test_steps_that_take_longer_for_good_are_told_with_what_they_took() -> None:
    second, text = 0, ""
    for step in range(1, 61):
        second += 2 if step <= 40 else 7
        text += f"{clock(second)} - INFO - step {step}/500 loss 0.5\n"
    pace = read(text).pace
    assert (pace.lately_s, pace.was and (pace.was.value, pace.was.until_step)) == (7.0, (2.0, 40))


def test_a_count_that_began_again_tells_the_time_and_not_the_step() -> None:
    second, text = 0, ""
    for round_ in range(1, 11):
        for step in range(10, 101, 10):
            second += 4
            text += (
                f"{clock(second)} - mmengine - INFO - Epoch(train)  [{round_}][{step}/100]  lr: 4.0e-03  eta: 9:41:02  "
                f"time: 0.4  data_time: {'0.01' if round_ < 6 else '0.3'}  memory: 122  loss: 3.6175\n"
            )
    part = read(text).step_times.parts[0]
    assert isinstance(part, PartTime)
    assert isinstance(part.was, Was)
    assert (part.was.until_step, part.was.until_at is not None) == (None, True)
