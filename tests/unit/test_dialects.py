"""What a run says of itself, in the manner of many loggers, trainers and containers: step, total, loss, pace and ranks are read.

`dialects`: 59 logs, written and labelled before hangtop read them by one who knew it; its misses were mended by general rules.
`dialects_second`, `dialects_third`: 25 and 20 more, home-made formats among them, each written after the ones before were
mended; most of what was missed is mended too. `trainers`: 44 logs of trainers, launchers and recommenders that none of the
others holds, their formats from memory and from what people posted; `trainers_second`, `trainers_third`: 36 and 28 more,
written after the ones before were mended, and 20 in `trainers_fourth`, twelve of which only look like training. `tables`: 71
logs of tables, blocks and trainers, in formats looked up in the sources or in what people posted, six of them full of numbers
that are no steps; `tables_second`, `tables_third`: 20 and 16 more, each written after the ones before were mended. `AT_FIRST`
holds what was right when first read. `pytest -s` prints every miss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from hangtop.records.log import LogReading
from tests.unit.test_holdout_score import HOLDOUT, marks, read

NUMBERS = ("step", "total", "loss", "step_s", "ranks", "rank_steps")
QUESTIONS = ("framework", "stage", "verdict", "first", "forbidden", *NUMBERS)
AT_FIRST = {
    "dialects": {
        "framework": 59,
        "stage": 44,
        "verdict": 58,
        "first": 2,
        "forbidden": 57,
        "step": 40,
        "total": 25,
        "loss": 24,
        "step_s": 5,
        "ranks": 5,
        "rank_steps": 0,
    },
    "dialects_second": {
        "framework": 24,
        "stage": 22,
        "verdict": 25,
        "first": 1,
        "forbidden": 24,
        "step": 18,
        "total": 13,
        "loss": 10,
        "step_s": 1,
        "ranks": 2,
        "rank_steps": 0,
    },
    "dialects_third": {
        "framework": 20,
        "stage": 14,
        "verdict": 20,
        "first": 1,
        "forbidden": 19,
        "step": 13,
        "total": 8,
        "loss": 11,
        "step_s": 0,
        "ranks": 2,
        "rank_steps": 0,
    },
    "trainers": {
        "framework": 43,
        "stage": 37,
        "verdict": 43,
        "first": 1,
        "forbidden": 43,
        "step": 33,
        "total": 16,
        "loss": 19,
        "step_s": 1,
        "ranks": 3,
        "rank_steps": 0,
    },
    "trainers_second": {
        "framework": 34,
        "stage": 22,
        "verdict": 34,
        "first": 0,
        "forbidden": 34,
        "step": 19,
        "total": 6,
        "loss": 3,
        "step_s": 0,
        "ranks": 3,
        "rank_steps": 0,
    },
    "trainers_third": {
        "framework": 28,
        "stage": 22,
        "verdict": 28,
        "first": 0,
        "forbidden": 28,
        "step": 18,
        "total": 3,
        "loss": 2,
        "step_s": 0,
        "ranks": 0,
        "rank_steps": 0,
    },
    "trainers_fourth": {
        "framework": 20,
        "stage": 15,
        "verdict": 20,
        "first": 0,
        "forbidden": 20,
        "step": 15,
        "total": 0,
        "loss": 0,
        "step_s": 0,
        "ranks": 0,
        "rank_steps": 0,
    },
    "tables": {
        "framework": 71,
        "stage": 44,
        "verdict": 71,
        "first": 0,
        "forbidden": 71,
        "step": 39,
        "total": 24,
        "loss": 30,
        "step_s": 3,
        "ranks": 3,
        "rank_steps": 0,
    },
    "tables_second": {
        "framework": 20,
        "stage": 12,
        "verdict": 20,
        "first": 0,
        "forbidden": 20,
        "step": 10,
        "total": 4,
        "loss": 7,
        "step_s": 0,
        "ranks": 0,
        "rank_steps": 0,
    },
    "tables_third": {
        "framework": 16,
        "stage": 12,
        "verdict": 16,
        "first": 0,
        "forbidden": 16,
        "step": 10,
        "total": 2,
        "loss": 6,
        "step_s": 0,
        "ranks": 0,
        "rank_steps": 0,
    },
}
"""Of 59; but first of 2, forbidden and step of 57, total of 39, loss of 53, step_s of 15, ranks of 8, rank_steps of 1. Of 25;
but first of 1, forbidden of 24, total of 16, loss of 17, ranks of 3, step_s of 2. Of 20; but first of 1, forbidden of 19, total
of 11, loss of 15, ranks of 2. Of 44; but first and step_s of 1, forbidden of 43, step of 42, total of 17, loss of 27, ranks of
6. Of 36; but forbidden and step of 34, total of 14, loss of 4, ranks of 3. Of 28; but total of 5, loss of 2. Of 20. Of 71; but
total of 33, loss of 53, step_s and ranks of 3. Of 20; but total of 5, loss of 12. Of 16; but total of 4, loss of 8."""
KNOWN_MISSES = {
    ("dialects_second", "loss"): 1,
    ("dialects_second", "ranks"): 1,
    ("tables", "total"): 1,
    ("trainers_second", "stage"): 1,
    ("trainers_second", "step"): 2,
    ("trainers_third", "stage"): 1,
    ("trainers_third", "step"): 1,
    ("tables_third", "stage"): 1,
    ("tables_third", "step"): 1,
}
"""`r1 - INFO - it 7/900`, `iter 96 step 24 | loss train:`, `epoch 001: 10 / 1102 … num_updates=10`, `iter 0 of the cache`,
settings with `"step": 30` and `"loss": 1` in lines of their own, `12:\t-3.1` and `"schritt": 300`, `1000 [1.2e-03, 2e-4]
[1.1e-01]` below names, `4.0k its`"""


def numbers(label: dict[str, Any], reading: LogReading) -> Iterator[tuple[str, bool, str]]:
    """Which numbers are asked of a log, whether they are right, and what was read instead."""
    progress = reading.progress
    found = {
        "step": progress.step,
        "total": progress.total,
        "loss": progress.metrics.get("loss"),
        "step_s": progress.step_s,
        "ranks": [rank.rank for rank in reading.ranks],
        "rank_steps": {str(rank.rank): rank.step for rank in reading.ranks},
    }
    for question in NUMBERS:
        if question in label:
            yield question, agrees(label[question], found[question]), f"{found[question]}, not {label[question]}"


def agrees(label: Any, found: Any) -> bool:
    """A value, all ranks, the steps of some ranks, or the bounds of a value."""
    if isinstance(label, dict):
        return bool(label.items() <= found.items())
    if isinstance(label, list) and not isinstance(found, list):
        return found is not None and label[0] <= found <= label[1]
    return bool(label == found)


@pytest.fixture(scope="module", params=AT_FIRST)
def score(request: pytest.FixtureRequest) -> tuple[str, dict[str, list[tuple[bool, str]]]]:
    asked: dict[str, list[tuple[bool, str]]] = {question: [] for question in QUESTIONS}
    where = HOLDOUT / request.param
    for line in (where / "labels.jsonl").read_bytes().splitlines():
        label = msgspec.json.decode(line)
        data = (where / label["file"]).read_bytes()
        for question, right, instead in (*marks(label, data), *numbers(label, read(data, label["silence_s"]))):
            if question in asked:
                asked[question].append((right, f"{label['file']}: {instead}"))
    return request.param, asked


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_run_is_understood_in_whatever_dialect_it_speaks(
    score: tuple[str, dict[str, list[tuple[bool, str]]]], question: str
) -> None:
    batch, asked = score
    answers = asked[question]
    right = sum(is_right for is_right, _ in answers)
    misses = [instead for is_right, instead in answers if not is_right]
    print(f"\n{batch} {question}: {right} of {len(answers)}, when first read {AT_FIRST[batch][question]}", *misses, sep="\n  ")
    assert right >= max(AT_FIRST[batch][question], 0.95 * len(answers) - KNOWN_MISSES.get((batch, question), 0)), misses
