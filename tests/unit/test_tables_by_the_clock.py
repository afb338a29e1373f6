"""A table of trials that Ray Tune prints every 30 s, whether or not anything moved: only what moved in it is news."""

from __future__ import annotations

import pytest

from hangtop.logs.digest import Digest
from hangtop.logs.extract.line_values import said_in
from hangtop.logs.file_facts import FileFacts
from tests.fakes.read_log import INDEX

EVERY_S = 30


def table(number: int, *rows: tuple[int, float]) -> str:
    """As Ray 2.60 prints it; `rows`: iterations and loss of each trial."""
    minutes, seconds = divmod(EVERY_S * number, 60)
    ran = f"{minutes}min {seconds}s" if minutes else f"{seconds}s"
    trials = "".join(
        f"│ train_689dc_0000{trial}   RUNNING      {trial}        {step}            {step / 2}   {loss}    │\n"
        for trial, (step, loss) in enumerate(rows)
    )
    return (
        "Trial status: 2 RUNNING\n"
        f"Current time: 2026-11-24 23:{minutes:02}:{seconds:02}. Total running time: {ran}\n"
        "Logical resource usage: 0.4/1 CPUs, 0/0 GPUs\n"
        "│ Trial name          status       a     iter     total time (s)       loss │\n"
        f"{trials}"
    )


def told(*tables: str) -> FileFacts:
    digest = Digest(INDEX, 0)
    digest.feed("".join(tables).encode())
    return digest.facts()


def test_a_table_that_says_the_same_again_is_no_news() -> None:
    facts = told(*(table(number, (8, 0.125), (6, 0.166)) for number in range(1, 9)))
    assert facts.idle_s >= 3 * EVERY_S
    assert "train_689dc" in facts.repeats


def test_one_in_which_a_trial_went_on_is() -> None:
    facts = told(*(table(number, (8, 0.125), (6 + number, 0.5 / number)) for number in range(1, 9)))
    assert facts.idle_s < EVERY_S


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("1min 30s", 90), ("2h 1min 3s", 7263), ("3 minutes 20.5 seconds", 200.5), ("12 min", 720)],
)
def test_a_time_in_parts_is_one_time(text: str, seconds: float) -> None:
    assert said_in(f"Total running time: {text}").times_s == (seconds,)
    assert said_in(f"Total running time: {text}").values == ()
