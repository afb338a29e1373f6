"""The screen as a person meets it: what it shows, and what keys and mouse do."""

from __future__ import annotations

import asyncio
import time

from msgspec.structs import replace

from hangtop.records.health import ProbeState
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.tui.app import HangtopApp
from hangtop.tui.widgets.row_widget import RowWidget
from tests.app.play import Clock, MemoryFeed, beat, line, on_screen, screen_text, session, settle


async def test_the_first_paint_does_not_wait_for_a_reading():
    app = HangtopApp(WatchSpec(logs=("train.log",)), MemoryFeed())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        text = screen_text(app)
        assert "train.log" in text
        assert "reading …" in text
        assert "q quit" in text


async def test_a_q_before_the_prompt_is_there_ends_it_without_a_word():
    """On a crowded machine a key may come between the first layout and what is added after it."""
    app = HangtopApp(WatchSpec(logs=("train.log",)), MemoryFeed())
    async with app.run_test(size=(120, 40)):
        app.exit()
        await app.watch_screen.add_prompt()
    assert app.return_code == 0


async def test_running_then_stalled_then_running_without_waiting(monkeypatch):
    spec, readings, at = session("healthy", without="procs")
    feed, clock = MemoryFeed(readings), Clock(at)
    app = HangtopApp(spec, feed, now=clock)
    rung, said = [], []
    monkeypatch.setattr(app, "bell", lambda: rung.append(1))
    monkeypatch.setattr(app, "_to_terminal", said.append)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        assert "● RUNNING  quiet 3s" in screen_text(app)
        assert not rung

        clock.now = at + 180
        feed.put(beat(clock.now))
        await settle(pilot, app)
        assert "■ STALLED  3:03" in screen_text(app)
        assert rung == [1]
        assert said[-1] == "\x1b]0;■ STALLED 3:03 train.log\x07"

        lit = []
        for _ in range(14):
            feed.put(beat(clock.now))
            await settle(pilot, app)
            role = next(role for text, role in app.watch_screen.query_one("#status").rows[0] if "STALLED" in text)
            chip = next(role for text, role in app.watch_screen.query_one("#stages").rows[0] if "▸" in text)
            assert ("reverse" in role) == ("reverse" in chip)
            lit.append("reverse" in role)
            clock.now += 1.0
        assert lit[:10] == [True, False] * 5
        assert all(lit[10:])
        assert rung == [1]

        log = app.state.log
        fresh = line(10**6, "step:121 - actor/pg_loss:0.117", clock.now, kind="progress")
        feed.put(Reading("log", "n1", clock.now, replace(log, last_output_at=clock.now, tail=(fresh,), fresh=False)))
        await settle(pilot, app)
        text = screen_text(app)
        assert "● RUNNING  quiet 0s" in text
        assert "silent since" not in text
        assert "step:121" in text
        assert said[-1] == "\x1b]0;● RUNNING train.log\x07"


async def test_calm_is_solid_at_once():
    async with on_screen("stalled", calm=True) as (app, pilot, feed, clock):
        for _ in range(3):
            clock.now += 1.0
            feed.put(beat(clock.now))
            await settle(pilot, app)
            assert "reverse" in next(role for text, role in app.watch_screen.query_one("#status").rows[0] if "STALLED" in text)


async def test_a_dead_probe_is_blind_never_stalled():
    async with on_screen("healthy") as (app, pilot, feed, clock):
        clock.now += 200
        feed.put(Reading("feed", "n1", clock.now, ProbeState(alive=False, problem="the probe ended (killed)")))
        await settle(pilot, app)
        text = screen_text(app)
        assert "? BLIND" in text
        assert "the probe ended (killed)" in text
        assert "STALLED" not in text


async def test_q_never_waits_for_the_feed():
    class Stuck(MemoryFeed):
        async def readings(self):
            yield beat(0.0)
            await asyncio.Event().wait()

    feed = Stuck()
    app = HangtopApp(WatchSpec(logs=("train.log",)), feed)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("q")
    assert feed.closed
    assert app.return_code == 0


async def test_1024_ranks_cost_at_most_seven_times_what_16_cost():
    """The budget is 100 ms. CPU time stands beside CPU time here: neither load nor a slow machine counts."""
    few, many = await cost_of_a_tick(16), await cost_of_a_tick(1024)
    assert many < 7 * few, (few, many)


async def cost_of_a_tick(count: int) -> float:
    """CPU seconds of the cheapest of five ticks with so many ranks on the screen."""
    spec, readings, at = session("many")
    place, log = next((n, reading.value) for n, reading in enumerate(readings) if reading.source == "log")
    ranks = tuple(
        replace(log.ranks[0], rank=rank, host=f"n{rank // 8:03d}", pid=rank, last_at=at - rank % 7) for rank in range(count)
    )
    readings[place] = replace(readings[place], value=replace(log, ranks=ranks, world=count))
    app = HangtopApp(spec, MemoryFeed(readings), now=Clock(at))
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot, app)
        costs = []
        for _ in range(5):
            began = time.thread_time()
            app.tick()
            costs.append(time.thread_time() - began)
        assert count < 1000 or screen_text(app).count("■") > 1000
        return min(costs)


async def test_a_slow_run_shows_first_who_works_in_amber_and_nothing_red():
    async with on_screen("fleet_slow", calm=True) as (app, *_):
        text = screen_text(app)
        assert "▲ SLOW, ALIVE" in text
        assert "1 works · 7 wait" in text
        assert "7 wait at 13 % of power" in text
        assert ":09, but rank 0 works" in text
        painted = [(span, role) for part in app.screen.query(RowWidget) for row in part.rows for span, role in row]
        assert ("0", "warn bold") in painted
        assert not [span for span, role in painted if role.startswith("bad")]


async def test_what_was_said_before_the_log_was_read_does_not_stay():
    """A draft of an unread log is no verdict that has to stand for a while."""
    spec, readings, at = session("fleet_slow")
    *before, log = readings
    feed = MemoryFeed([replace(reading, at=at - 60) for reading in before if reading.source == "procs"])
    app = HangtopApp(spec, feed, now=Clock(at), calm=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        for reading in (*before, log):
            feed.put(reading)
        await settle(pilot, app)
        assert "▲ SLOW, ALIVE" in screen_text(app)


async def test_a_finished_run_names_what_it_left_behind_and_the_key_that_cleans_it():
    async with on_screen("fleet_finished", calm=True) as (app, *_):
        text = screen_text(app)
        assert "1 process is left, with 1.2 G on GPU 6, 5.9 G of memory: pid 133902 VLLM::EngineCore   c clean leftovers" in text
        assert "1 not free" in text
        assert "1 leftover · 8 ended" in text
        assert "vLLM engine core" in text


async def test_where_nothing_may_be_done_no_such_key_is_offered():
    async with on_screen("fleet_finished", calm=True, read_only=True) as (app, *_):
        assert "1 process is left" in screen_text(app)
        assert "c clean" not in screen_text(app)
