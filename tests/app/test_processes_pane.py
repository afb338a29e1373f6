"""The processes pane in the app: choose, fold, sort, filter, open; the choice stays with the process, whatever moves."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.process import Process, ProcessReading
from hangtop.records.reading import Reading
from hangtop.tui.app import HangtopApp
from hangtop.tui.pages.process_page import ProcessScreen
from hangtop.tui.pages.rank_page import RankScreen
from hangtop.tui.panes.processes_pane import ProcessesPane
from tests.app.play import Clock, MemoryFeed, screen_text, session, settle

HOST = "n1"


def app_with(name: str = "stalled", **options: object) -> tuple[HangtopApp, MemoryFeed, Clock, ProcessReading]:
    """The app on a recording, and its last reading of the processes, to send on with changes."""
    spec, readings, at = session(name)
    feed, clock = MemoryFeed(readings), Clock(at)
    procs = next(reading.value for reading in readings if isinstance(reading.value, ProcessReading))
    return HangtopApp(spec, feed, now=clock, **options), feed, clock, procs  # type: ignore[arg-type]


def pane_of(app: HangtopApp) -> ProcessesPane:
    return app.watch_screen.query_one(ProcessesPane)


async def press(pilot: Pilot[None], app: HangtopApp, *keys: str) -> list[str]:
    """The lines of the pane after these keys."""
    await pilot.press(*keys)
    await settle(pilot, app)
    return pane_of(app).text().splitlines()


def chosen_line(app: HangtopApp) -> str:
    return next("".join(text for text, _ in row) for row in pane_of(app).rows if any("reverse" in role for _, role in row))


async def test_a_hung_run_shows_its_culprit_apart_and_alone_in_red():
    app, *_ = app_with()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        head, _, *rows = pane_of(app).text().splitlines()
        assert head.startswith("4 Processes  44 of this run · 331 G of 1.9 T")
        assert rows[1].startswith("▸  133953  S     2   38.0  ├ WorkerDict rank 3")
        red = [row for row in pane_of(app).rows if any("bad" in role for _, role in row)]
        assert len(red) == 1


async def test_the_choice_stays_with_the_process_when_lines_come_go_and_move():
    app, feed, clock, procs = app_with()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await press(pilot, app, "4", "end")
        assert "vLLM engine cores" in chosen_line(app)
        chosen = pane_of(app).chosen
        first = Process(
            pid=7, started_at=1.0, start_ticks=7, ppid=133_701, name="ninja", command="ninja", state="R", role="compiler"
        )
        clock.now += 1
        feed.put(Reading("procs", HOST, clock.now, replace(procs, processes=(procs.processes[0], first, *procs.processes[1:]))))
        await settle(pilot, app)
        assert "vLLM engine cores" in chosen_line(app)
        await press(pilot, app, "o")
        assert chosen_line(app).split()[0] == "134200"
        assert pane_of(app).chosen == chosen


async def test_a_pid_that_is_used_again_is_not_the_chosen_process():
    app, feed, clock, procs = app_with()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await press(pilot, app, "4", "down", "down")
        assert "rank 3" in chosen_line(app)
        other = tuple(replace(process, start_ticks=process.start_ticks + 5_000) for process in procs.processes)
        clock.now += 1
        feed.put(Reading("procs", HOST, clock.now, replace(procs, processes=other)))
        await settle(pilot, app)
        assert pane_of(app).chosen_node() is None
        assert not any("reverse" in role for row in pane_of(app).rows for _, role in row)


async def test_arrows_fold_and_unfold():
    app, *_ = app_with("healthy")
    async with app.run_test(size=(160, 50)) as pilot:
        await settle(pilot, app)
        before = len(await press(pilot, app, "4", "4", "home"))
        folded = await press(pilot, app, "left")
        assert "+ 43 below" in folded[2]
        assert "44 of this run" in folded[0]
        assert len(await press(pilot, app, "space")) == before
        unfolded = await press(pilot, app, "down", "down", "right")
        assert sum("WorkerDict rank " in line for line in unfolded) == 8
        assert "133950" in chosen_line(app)
        await press(pilot, app, "down", "down", "left")  # below rank 0 are its workers: left goes up to it
        await press(pilot, app, "left", "left")
        assert sum("WorkerDict rank" in line for line in pane_of(app).text().splitlines()) == 1


async def test_o_goes_through_the_orders_and_esc_comes_back_to_the_tree():
    app, *_ = app_with("healthy")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        tree = await press(pilot, app, "4")
        for order in ("cpu", "memory", "io"):
            assert f"by {order}" in (await press(pilot, app, "o"))[0]
        assert await press(pilot, app, "o") == tree
        await press(pilot, app, "o")
        assert await press(pilot, app, "escape") == tree


async def test_slash_filters_the_processes_while_they_have_the_focus():
    app, *_ = app_with()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        lines = await press(pilot, app, "4", "slash", *"engine", "enter")
        assert "with “engine”" in lines[0]
        assert sum("vLLM engine core" in line for line in lines) == 2
        assert not app.watch_screen.log_pane.model.base.filtered
        assert pane_of(app).has_focus
        assert "WorkerDict" in "\n".join(await press(pilot, app, "escape"))
        await press(pilot, app, "6", "slash", *"step", "enter")
        assert app.watch_screen.log_pane.model.base.filtered
        assert not pane_of(app).options.pattern


async def test_a_shows_what_is_not_of_this_run():
    app, feed, clock, procs = app_with("healthy")
    orphan = Process(
        pid=900, started_at=1.0, start_ticks=9, ppid=1, name="python", command="python old.py", state="S", rss_bytes=30 << 30
    )
    feed.put(Reading("procs", HOST, clock.now, replace(procs, orphans=(orphan,))))
    async with app.run_test(size=(160, 50)) as pilot:
        await settle(pilot, app)
        assert "1 orphan" in screen_text(app)
        assert "python old.py" not in screen_text(app)
        lines = await press(pilot, app, "4", "4", "a")
        assert "orphans  1" in lines
        assert "all training processes" in lines[0]
        await press(pilot, app, "end")
        assert "python old.py" in chosen_line(app)
        assert "orphans" not in "\n".join(await press(pilot, app, "a"))


async def test_enter_tells_everything_of_one_process_and_outlives_it():
    app, feed, clock, procs = app_with()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        await press(pilot, app, "4", "down", "down", "enter")
        assert isinstance(app.screen, ProcessScreen)
        text = screen_text(app)
        for said in (
            "WorkerDict rank 3",
            "133953 on n1",
            "133701 python -m verl.trainer.main_ppo",
            "S  sleeping",
            "38.0 G",
            "rank 3 of 8",
        ):
            assert said in text
        assert "4 processes below" in text
        clock.now += 1
        feed.put(Reading("procs", HOST, clock.now, replace(procs, processes=procs.processes[:1])))
        await settle(pilot, app)
        assert "is gone since" in screen_text(app)
        await pilot.press("enter")
        await settle(pilot, app)
        assert isinstance(app.screen, RankScreen)
        await pilot.press("escape")
        await settle(pilot, app)
        assert app.screen is app.watch_screen


async def test_a_click_chooses_a_process_and_a_second_one_opens_it():
    app, *_ = app_with()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        for _ in range(2):
            await pilot.click(ProcessesPane, offset=(30, 3))
            await settle(pilot, app)
        assert isinstance(app.screen, ProcessScreen)
        assert "133953" in screen_text(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_another_users_processes_name_the_command_that_shows_them(size: tuple[int, int]):
    app, feed, clock, procs = app_with("healthy")
    right = "sudo hangtop --log /a/long/way/to/the/place/where/the/log/of/this/run/is/kept/train.log"
    hidden = tuple(
        replace(process, rss_bytes=None, read_b_s=None, write_b_s=None, missing_right=right, user="bob")
        for process in procs.processes
    )
    feed.put(Reading("procs", HOST, clock.now, replace(procs, processes=hidden, missing_right=right)))
    async with app.run_test(size=size) as pilot:
        await settle(pilot, app)
        await press(pilot, app, "4", "4")
        text = screen_text(app)
        assert "sudo hangtop --log /a/long/way" in text
        assert " ? " in text


async def test_old_values_are_marked_with_their_age():
    app, feed, clock, _procs = app_with("healthy")
    feed.put(Reading("probe", HOST, clock.now, Heartbeat(sources=(SourceHealth("procs", read_at=clock.now),))))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        assert "late" not in screen_text(app)
        for later_s, said in ((6, "late: 5s old"), (40, "no answer for 45s")):
            clock.now += later_s
            await settle(pilot, app)
            assert said in pane_of(app).text()
        assert "stale" in {role for row in pane_of(app).rows[2:] for _, role in row}


async def test_numbers_alone_change_seldom_trouble_shows_at_once():
    app, feed, clock, procs = app_with("healthy")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        before = pane_of(app).text()
        busier = tuple(replace(process, rss_bytes=(process.rss_bytes or 0) * 2) for process in procs.processes)
        clock.now += 1
        feed.put(Reading("procs", HOST, clock.now, replace(procs, processes=busier)))
        await settle(pilot, app)
        assert pane_of(app).text() == before
        clock.now += 5
        await settle(pilot, app)
        assert pane_of(app).text() != before
        stopped = tuple(replace(process, state="T") if process.pid == 133_952 else process for process in busier)
        clock.now += 1
        feed.put(Reading("procs", HOST, clock.now, replace(procs, processes=stopped)))
        await settle(pilot, app)
        assert "stopped" in pane_of(app).text()
        assert pane_of(app).alarm(app.view) == ("1 stopped", "bad")
        ended = tuple(replace(process, state="Z") if process.pid == 133_952 else process for process in busier)
        feed.put(Reading("procs", HOST, clock.now, replace(procs, processes=ended)))
        await settle(pilot, app)
        assert pane_of(app).alarm(app.view) == ("1 ended", "bad")


async def test_the_command_that_grants_what_is_missing_takes_no_line_from_the_table():
    app, feed, clock, procs = app_with()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        before = pane_of(app).want(app.view, 118).lines
        command = "sudo hangtop --log /home/ada/runs/train.log"  # fits into the head of a wide pane, not of half of one
        foreign = tuple(replace(process, missing_right=command) for process in procs.processes)
        clock.now += 6
        feed.put(Reading("procs", HOST, clock.now, replace(procs, processes=foreign, missing_right=command)))
        await settle(pilot, app)
        assert pane_of(app).text().splitlines()[1].startswith("? to see all of it: sudo hangtop")
        assert pane_of(app).want(app.view, 118).lines == before + 1
