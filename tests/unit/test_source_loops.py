"""What the source of a loop tells: whether it can be left, and whether it does anything."""

from __future__ import annotations

import pytest

from hangtop.sources.loops import loop_at

BEFORE = "def work(flag, jobs):\n"


@pytest.mark.parametrize(
    ("loop", "line", "says"),
    [
        ("    while True:\n        number += 1\n", 3, "endless"),
        ("    while 1:\n        number += 1\n", 2, "endless"),
        ("    while True:\n        pass\n", 3, "waits"),
        ("    while not flag.value:\n        pass\n", 2, "waits"),
        ("    while flag.empty():\n        continue\n", 3, "waits"),
        ("    while True:\n        if number > 9:\n            break\n        number += 1\n", 5, None),
        ("    while True:\n        yield 1\n", 3, None),
        ("    while True:\n        train(next(jobs))\n", 3, None),
        ("    while time.monotonic() < ends:\n        pass\n", 2, None),
        ("    while number < 10:\n        number += 1\n", 3, None),
        ("    while True:\n        for number in range(10**9):\n            total += number\n", 4, None),
        ("    for number in range(10**9):\n        total += number\n", 3, None),
        ("    total = sum(range(10**9))\n", 2, None),
        ("    while True\n", 2, None),
    ],
)
def test_a_loop_is_endless_only_where_nothing_may_leave_it(loop: str, line: int, says: str | None) -> None:
    assert loop_at(BEFORE + loop, line) == says
