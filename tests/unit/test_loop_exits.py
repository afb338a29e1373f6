"""What the source of a loop tells: whether it can be left, and whether it does anything."""

from __future__ import annotations

import pytest

from hangtop.stacks.loop_exits import awaited_sleeps, counts_out, loop_at, loop_line

COUNTED = (
    "    while True:\n        number += 1\n        time.sleep(1)\n        if number >= goal {} flag.done:\n            break\n"
)
BEFORE = "def work(flag, jobs):\n"
JOBS = "    while jobs:\n"
BACK = JOBS + "        job = jobs.pop()\n        time.sleep(0.2)\n        jobs += [] if job.ok else [job]\n"
READY = JOBS + "        for job in list(jobs):\n            if job.ok:\n                jobs.pop(job)\n        time.sleep(1)\n"
AGAIN = JOBS + "        if not jobs[0].ok:\n            time.sleep(1)\n            continue\n        jobs.pop()\n"
LOCKED = JOBS + "        with lock:\n            job = jobs.pop()\n        if job.bad:\n            continue\n        play()\n"


@pytest.mark.parametrize(
    ("loop", "line", "says"),
    [
        ("    while True:\n        number += 1\n", 3, "endless"),
        ("    while 1:\n        number += 1\n", 2, "endless"),
        ("    while True:\n        pass\n", 3, "waits"),
        ("    while not flag.value:\n        pass\n", 2, "waits"),
        ("    while flag.empty():\n        continue\n", 3, "waits"),
        ("    while True:\n        if number > 9:\n            break\n        number += 1\n", 5, "ends"),
        ("    while True:\n        yield 1\n", 3, "asks"),
        ("    while True:\n        train(next(jobs))\n", 3, "rounds"),
        ("    while time.monotonic() < ends:\n        pass\n", 2, "ends"),
        ("    while number < 10:\n        number += 1\n", 3, "ends"),
        ("    while not flag.done and number < goal:\n        time.sleep(0.02)\n        number += 1\n", 3, "ends"),
        ("    while not flag.done or number < goal:\n        time.sleep(0.02)\n        number += 1\n", 3, "asks"),
        ("    while self.turn < 250:\n        self.turn += 1\n        time.sleep(0.2)\n", 4, "ends"),
        (COUNTED.format("or"), 4, "ends"),
        ("    while left:\n        time.sleep(0.2)\n        left -= 1\n", 3, "ends"),
        ("    while left > 0:\n        time.sleep(0.2)\n        left = left - 1\n", 3, "ends"),
        ("    while jobs:\n        play(jobs.pop())\n        time.sleep(0.2)\n", 4, "ends"),
        ("    while jobs:\n        job = jobs.pop()\n        time.sleep(0.2)\n        job.ok or jobs.append(job)\n", 4, "asks"),
        (BACK, 4, "asks"),
        (READY, 6, "asks"),
        (AGAIN, 4, "asks"),
        (LOCKED, 7, "ends"),
        ("    while jobs:\n        for job in jobs.popleft():\n            time.sleep(1)\n", 4, "ends"),
        ("    while jobs:\n        time.sleep(1)\n        jobs.append(jobs.pop(0))\n", 3, "asks"),
        ("    while spins:\n        time.sleep(1)\n        spins += 1\n", 3, "asks"),
        (COUNTED.format("and"), 4, "asks"),
        ("    while True:\n        time.sleep(1)\n        if number >= goal:\n            break\n", 3, "asks"),
        ("    while number < goal:\n        if flag.done:\n            number += 1\n        time.sleep(1)\n", 5, "asks"),
        ("    while True:\n        for number in range(10**9):\n            total += number\n", 4, "endless"),
        ("    for number in range(10**9):\n        total += number\n", 3, "ends"),
        ("    total = sum(range(10**9))\n", 2, "none"),
        ("    while True:\n        total += sum(range(1000)) % 7\n", 3, "endless"),
        ("    while True:\n        total += math.sin(total)\n", 3, "endless"),
        ("    while True:\n        now = time.time()\n", 3, "endless"),
        ("    while True:\n        total += flag.get(total)\n", 3, "rounds"),
        ("    while True:\n        job = jobs.get()\n        time.sleep(job.pause)\n", 4, "takes"),
        ("    while not flag.done:\n        send(link.recv())\n        time.sleep(1)\n", 4, "takes"),
        ("    while True:\n        job = jobs.get(timeout=1)\n        time.sleep(1)\n", 4, "rounds"),
        ("    while not flag.done:\n        spins += 1\n", 3, "endless"),
        ("    while not flag.done:\n        flag.done = spins > 9\n", 3, "asks"),
        ("    while jobs[0]:\n        jobs[0] -= 1\n", 3, "asks"),
        ("    while low < high:\n        low, high = high, low\n", 3, "asks"),
        ("    while any(job.is_alive() for job in jobs):\n        time.sleep(1)\n", 3, "rounds"),
        ("    while True:\n        if child.poll() is not None:\n            break\n        time.sleep(1)\n", 5, "rounds"),
        ("    while not os.path.exists(flag):\n        time.sleep(0.1)\n", 3, "asks"),
        ("    for job in jobs:\n        while not job.done():\n            time.sleep(0.1)\n", 4, "asks"),
        ("    for job in jobs:\n        time.sleep(0.1)\n", 3, "ends"),
        ("    while True\n", 2, None),
    ],
)
def test_a_loop_is_told_from_its_source(loop: str, line: int, says: str | None) -> None:
    assert loop_at(BEFORE + loop, line) == says


def test_where_the_innermost_loop_begins() -> None:
    source = "for a in b:\n    for c in a:\n        c()\n    a()\na()\n"
    assert [loop_line(source, line) for line in (3, 4, 5)] == [2, 1, None]


@pytest.mark.parametrize(
    ("loop", "line", "counted"),
    [
        ("    for part in range(10**9):\n        total += part % 7\n", 3, True),
        ("    for row in jobs:\n        for cell in row:\n            total += abs(cell)\n", 4, True),
        ("    while part < 9:\n        part += 1\n", 3, True),
        ("    for part in jobs:\n        total += solve(part)\n", 3, False),
        ("    while error > least:\n        for part in jobs:\n            total += part\n", 4, False),
        ("    for part in itertools.count():\n        total += part\n", 3, False),
        ("    total += 1\n", 2, False),
    ],
)
def test_a_computation_whose_rounds_are_counted(loop: str, line: int, counted: bool) -> None:
    assert counts_out("import itertools\n" + BEFORE + loop, line + 1) is counted


def test_the_loops_around_sleeps_that_are_awaited() -> None:
    counted = "async def rest():\n    for part in parts:\n        await asyncio.sleep(0.3)\n"
    assert awaited_sleeps(counted) == ("ends",)
    assert awaited_sleeps(counted + "    while not ready():\n        await sleep(1)\n    await sleep(2)\n") == (
        "ends",
        "asks",
        "none",
    )
    assert awaited_sleeps("async def rest():\n    await done.wait()\n") == ()


@pytest.mark.parametrize(
    ("over", "says"),
    [
        ("itertools.count()", "beats"),
        ("cycle('ab')", "beats"),
        ("repeat(1)", "beats"),
        ("repeat(1, 5)", "ends"),
        ("range(9)", "ends"),
    ],
)
def test_a_loop_over_what_never_ends_only_prints_for_ever(over: str, says: str) -> None:
    imports = "import itertools\nimport time\nfrom itertools import cycle, repeat\n"
    assert loop_at(f"{imports}for beat in {over}:\n    time.sleep(1)\n    print(beat)\n", 5) == says
    assert loop_at(f"{imports}for step in {over}:\n    time.sleep(1)\n    train(step)\n", 5) == "ends"


HELD = (
    "import time\ndef jitter(images: Tensor, rank: int, step: int):\n    turn, part = 0, len(images)\n    while {}:\n        {}\n"
)


@pytest.mark.parametrize(
    ("test", "body", "says"),
    [
        ("rank == 2 and step == 47", "time.sleep(30)", "beats"),
        ("not rank or turn < part", "time.sleep(30); print(rank)", "beats"),
        ("rank == 2 and step < 47", "time.sleep(30); step += 1", "ends"),
        ("rank == 2 and step == 47", "time.sleep(30); step = rank", "asks"),
        ("rank == 2 and step == 47", "time.sleep(30); look(step)", "asks"),
        pytest.param("images == 0", "time.sleep(30)", "asks", id="a tensor may be shared"),
        pytest.param("flag == 0", "time.sleep(30)", "asks", id="of the module: others may set it"),
        pytest.param("rank == 2 and images.done", "time.sleep(30)", "asks", id="an attribute"),
        pytest.param("rank == 2 and ready()", "time.sleep(30)", "asks", id="a question"),
    ],
)
def test_a_condition_on_numbers_that_nobody_sets_stays_true(test: str, body: str, says: str) -> None:
    assert loop_at(HELD.format(test, body), 5) == says


def test_a_number_that_an_inner_function_sets_may_change() -> None:
    inner = "    def leave():\n        nonlocal turn\n        turn = 9\n"
    assert loop_at(HELD.format("turn < 5", "time.sleep(30)") + inner, 5) == "asks"
    assert loop_at("import time\nturn = 0\nwhile turn < 5:\n    time.sleep(30)\n", 4) == "asks", "any thread may set it"
