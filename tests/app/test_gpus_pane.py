"""The GPUs pane in the app: a run that is well, one that hangs, a driver that is silent, a machine without GPUs."""

from __future__ import annotations

import pytest

from hangtop.records.gpu import Gpu, GpuProcess, GpuReading
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.reading import Reading
from hangtop.tui.app import HangtopApp
from hangtop.tui.panes.gpus_pane import GpusPane
from tests.app.play import Clock, MemoryFeed, screen_text, seen, session, settle

HOST = "n1"
PIDS_HIDDEN = "this container hides the GPU processes"


def gpu(index: int, at: float, **values: object) -> Gpu:
    well: dict[str, object] = {
        "status": "ok", "read_at": at, "uuid": f"GPU-{index}", "name": "NVIDIA H100 80GB HBM3", "limit_w": 700.0,
        "util_percent": 97.0, "power_w": 611.0, "used_bytes": 61 << 30, "temperature_c": 62.0,
    }  # fmt: skip
    return Gpu(index, **{**well, **values})  # type: ignore[arg-type]


def reading(at: float, *gpus: Gpu, **more: object) -> Reading:
    return Reading("gpu", HOST, at, GpuReading(gpus=gpus, **more))  # type: ignore[arg-type]


def health(at: float, **said: str) -> Reading:
    return Reading("probe", HOST, at, Heartbeat(sources=(SourceHealth("gpu", read_at=None if said else at, **said),)))


def app_with_gpus(*readings: Reading) -> tuple[HangtopApp, MemoryFeed, Clock, float]:
    """The healthy recording, and these readings after it."""
    spec, recorded, at = session("healthy", without="procs")
    feed, clock = MemoryFeed([*recorded, *readings]), Clock(at)
    return HangtopApp(spec, feed, now=clock), feed, clock, at


async def test_a_run_that_is_well_shows_its_gpus_in_grey():
    app, feed, _, at = app_with_gpus()
    feed.put(reading(at, *(gpu(i, at) for i in range(8))))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        text = screen_text(app)
        assert "3 GPUs  8 × H100 80G · limit 700 W" in text
        assert "━━━━━━━━  97  ━━━━━─  611   61.0   62" in text
        roles = {role for row in app.watch_screen.query_one("#gpus").rows for _, role in row}
        assert not roles & {"bad", "bad bold", "warn"}


async def test_a_run_that_stands_shows_the_idle_gpu_first_and_no_number_ticks_within_its_noise():
    app, feed, clock, at = app_with_gpus()
    clock.now = at + 180
    for second in range(60):
        then = at + 120 + second
        spin = {"util_percent": 100.0, "power_w": 92.0 + second % 2}
        idle = {"util_percent": 0.0, "power_w": 71.0}
        feed.put(reading(then, *(gpu(i, then, **(idle if i == 3 else spin)) for i in range(8))))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        rows = app.watch_screen.query_one("#gpus").text().splitlines()
        assert rows[0].startswith("3 GPUs  1 idle · 7 busy-wait · limit 700 W")
        assert rows[2].startswith("▸   3  ────────   0")
        assert rows[3].startswith("~   0  ━━━━━━━━ 100")
        clock.now += 1
        feed.put(reading(clock.now, *(gpu(i, clock.now, util_percent=0.0 if i == 3 else 99.0, power_w=90.0) for i in range(8))))
        await settle(pilot, app)
        again = app.watch_screen.query_one("#gpus").text().splitlines()
        assert [row[:44] for row in again[2:]] == [row[:44] for row in rows[2:]]  # the trend beside it moves every 10 s


async def test_values_age_when_the_driver_falls_silent():
    app, feed, clock, at = app_with_gpus()
    feed.put(reading(at, *(gpu(i, at) for i in range(8))))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        silent = [gpu(i, at, status="no answer", since=at) for i in range(8)]
        clock.now = at + 44
        feed.put(reading(clock.now, *silent, stuck_since=at))
        await settle(pilot, app)
        text = screen_text(app)
        assert "no answer for 40s · old values below" in text
        assert text.count("40s ago") == 8
        assert "value of" in text


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_an_nvml_that_hangs_before_the_start_is_one_line(size: tuple[int, int]):
    app, feed, clock, at = app_with_gpus()
    clock.now = at + 12
    feed.put(reading(clock.now, stuck_since=at, stuck_in="nvmlInit"))
    async with app.run_test(size=size) as pilot:
        await settle(pilot, app)
        await pilot.press("3")
        await settle(pilot, app)
        assert "no answer for 10s: nvmlInit has not returned" in screen_text(app)


async def test_no_gpu_is_one_line_that_says_so():
    app, feed, _, at = app_with_gpus()
    feed.put(health(at, absent="no NVIDIA driver here (libnvidia-ml.so.1 not found)"))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        assert "none: no NVIDIA driver here (libnvidia-ml.so.1 not found)" in screen_text(app)


async def test_hidden_pids_are_said_once_below_the_table():
    app, feed, _, at = app_with_gpus()
    feed.put(reading(at, *(gpu(i, at) for i in range(4)), pids_hidden=True, notes=(PIDS_HIDDEN,)))
    async with app.run_test(size=(120, 40)) as pilot:
        await seen(pilot, app, PIDS_HIDDEN)
        assert screen_text(app).count(PIDS_HIDDEN) == 1


async def test_many_nodes_are_shown_as_means():
    app, feed, _, at = app_with_gpus()
    for node in range(32):
        feed.put(Reading("gpu", f"n{node:02d}", at, reading(at, *(gpu(i, at) for i in range(8))).value))
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot, app)
        text = screen_text(app)
        assert "256 of 256 answer · means per node, limit 700 W" in text
        assert "and 20 nodes like these" in text


async def test_a_node_is_chosen_and_opened_to_its_gpus_and_left_again():
    app, feed, _, at = app_with_gpus()
    for node in range(32):
        feed.put(Reading("gpu", f"n{node:02d}", at, reading(at, *(gpu(i, at) for i in range(8))).value))
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot, app)
        pane = app.watch_screen.query_one(GpusPane)
        await pilot.press("3", "end")
        await settle(pilot, app)
        assert pane.chosen == "n31"
        assert "of 32" in screen_text(app)

        await pilot.press("up", "enter")
        await settle(pilot, app)
        assert (pane.opened, pane.chosen) == ("n30", None)
        assert "n30  8 × H100 80G" in screen_text(app)
        await pilot.press("down")
        assert pane.chosen == 0
        await pilot.press("left")
        assert (pane.opened, pane.chosen) == (None, "n30")
        await pilot.press("left", "right", "down")
        assert (pane.opened, pane.chosen) == ("n30", 0)

        await pilot.press("escape", "escape")
        await settle(pilot, app)
        assert "256 of 256 answer" in screen_text(app)
        await pilot.press("escape")
        assert pane.chosen is None

        await pilot.click(GpusPane, offset=(5, 3))
        await settle(pilot, app)
        assert pane.chosen == "n01"
        await pilot.click(GpusPane, offset=(5, 3))
        await settle(pilot, app)
        assert pane.opened == "n01"


async def test_left_gives_up_the_choice_where_there_is_one_node_only():
    app, feed, _, at = app_with_gpus()
    feed.put(reading(at, *(gpu(i, at) for i in range(8))))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        pane = app.watch_screen.gpus_pane
        await pilot.press("3", "down", "down")
        assert pane.chosen == 1
        await pilot.press("left")
        assert pane.chosen is None
        assert pane.has_focus


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_enter_on_a_gpu_without_a_rank_opens_all_that_is_known_of_it(size: tuple[int, int]):
    app, feed, _, at = app_with_gpus()
    spare = gpu(8, at, util_percent=31.0, ecc_uncorrected=2, processes=(GpuProcess(4711, 3 << 30),))
    for second in range(60, 0, -10):
        feed.put(reading(at - second, *(gpu(i, at - second) for i in range(9))))
    feed.put(reading(at, *(gpu(i, at) for i in range(8)), spare))
    async with app.run_test(size=size) as pilot:
        await settle(pilot, app)
        await pilot.press("3", "end", "enter")
        await settle(pilot, app)
        page = screen_text(app)
        assert "GPU 8 · n1 · H100 80G" in page
        assert "its rank" not in page
        for said in (
            "▌ 2 uncorrected memory errors",
            "busy          31 %",
            "power         611 W of 700 W",
            "memory        61.0 G",
        ):
            assert said in page
        await pilot.press("end")
        await settle(pilot, app)
        assert "4711     3.0 G  not of this run" in screen_text(app)
        assert "Last " in screen_text(app)
        await pilot.press("up")
        await settle(pilot, app)
        assert "GPU 7 · n1" in screen_text(app)


@pytest.mark.parametrize(("status", "why"), [("lost", "fell off the bus"), ("reset needed", ""), ("no answer", "")])
async def test_at_80_columns_the_tab_names_the_gpu_in_trouble_and_its_row_says_how_long(status: str, why: str):
    app, feed, _, at = app_with_gpus()
    feed.put(reading(at - 40, *(gpu(i, at - 40) for i in range(8))))
    feed.put(
        reading(at, *(gpu(i, at, **({"status": status, "why": why, "read_at": at - 40} if i == 3 else {})) for i in range(8)))
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, app)
        assert f"3 GPUs GPU 3 {status}" in screen_text(app)
        await pilot.press("3")
        await settle(pilot, app)
        row = next(line for line in screen_text(app).splitlines() if line.startswith(" ▸   3 "))
        assert status in row
        assert "40s" in row


async def test_at_80_columns_why_there_are_no_gpus_is_said_to_its_end():
    app, feed, _, at = app_with_gpus()
    problem = "the NVIDIA driver does not answer (nvmlInit has not returned): look at dmesg for Xid lines; a reboot may be needed"
    feed.put(health(at, problem=problem))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, app)
        await pilot.press("3")
        await settle(pilot, app)
        said = " ".join(line.strip() for line in screen_text(app).splitlines()[5:9])
        assert problem in said
