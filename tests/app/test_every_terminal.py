"""Any size, any set of signs, any colours, any foreign text: the screen stays whole."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.records.log import LogReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.tui.app import HangtopApp
from hangtop.tui.pane_choice import pane_choice
from tests.app.play import Clock, MemoryFeed, line, on_screen, screen_text, session, settle, until


async def test_t_goes_round_the_themes():
    async with on_screen("healthy") as (app, pilot, *_):
        seen = [app.palette.name]
        for _ in range(len(app.palettes)):
            await pilot.press("t")
            await settle(pilot, app)
            seen.append(app.palette.name)
            assert "RUNNING" in screen_text(app)
        assert set(seen) == set(app.palettes) >= {"dark", "light", "safe", "ansi"}
        assert seen[0] == seen[-1] == "dark"


class TestSmall:
    async def test_80x24_has_tabs_and_the_tail_of_the_log(self):
        async with on_screen("stalled", size=(80, 24)) as (app, *_):
            text = screen_text(app)
            assert "2 Ranks    3 GPUs" in text
            assert "6 Log silent" in text
            assert "silent since 10:04:09" in text
            assert "reward batch" not in text.splitlines()[8]

    async def test_tabs_by_key_and_by_mouse(self):
        async with on_screen("healthy", size=(80, 24)) as (app, pilot, *_):
            await pilot.press("3")
            await settle(pilot, app)
            assert app.active == "gpus"
            assert "no NVIDIA driver here" in screen_text(app)
            await pilot.click("#tabs", offset=(2, 0))
            await settle(pilot, app)
            assert app.active == "ranks"
            await pilot.press("tab")
            await settle(pilot, app)
            assert app.active == "gpus"

    @pytest.mark.parametrize("size", [(59, 40), (120, 14), (20, 5), (1, 1)])
    async def test_too_small_says_so_in_one_line_and_comes_back(self, size):
        async with on_screen("healthy", size=size) as (app, pilot, *_):
            assert "hangtop needs 60x15"[: size[0]] in screen_text(app)
            await pilot.resize_terminal(120, 40)
            await settle(pilot, app)
            assert "2 Ranks" in screen_text(app)
            await pilot.resize_terminal(*size)
            await settle(pilot, app)
            assert "Ranks" not in screen_text(app)

    @pytest.mark.parametrize("size", [(60, 15), (80, 24), (100, 30), (120, 40), (200, 60)])
    @pytest.mark.parametrize("name", ["healthy", "stalled", "crashed", "many"])
    async def test_no_row_is_wider_than_the_screen(self, name, size):
        async with on_screen(name, size=size) as (app, *_):
            lines = screen_text(app).splitlines()
            assert max(len(row) for row in lines) <= size[0]
            assert app.watch_screen.query_one("#status").text().strip() in lines[0]
            assert "q quit" in lines[-1]


class TestHostileText:
    NASTY = (
        "[rank0]: File [/dev/shm] [/]",
        "[bold red]x[/bold red] [link=http://a]",
        "损失 ✅ ⚠ \u200b\u202e",
        "]0;title",
        "\\[x] ${HOME} {}",
    )

    async def test_foreign_text_is_never_parsed(self):
        spec, readings, at = session("healthy")
        log = readings[0].value
        assert isinstance(log, LogReading)
        tail = tuple(line(i * 100, text, at, kind="error", rank=i) for i, text in enumerate(self.NASTY))
        ranks = tuple(replace(rank, host="[/]", actor="[b]") for rank in log.ranks)
        readings[0] = replace(readings[0], value=replace(log, tail=tail, ranks=ranks, framework="[red]", last_output_at=at - 300))
        app = HangtopApp(spec, MemoryFeed(readings), now=Clock(at), title="[/x].log")
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, app)
            text = screen_text(app)
            for shown in ("[rank0]: File [/dev/shm] [/]", "[bold red]x[/bold red]", "[red]", "[/x].log", "\\[x] ${HOME} {}"):
                assert shown in text
            await pilot.press("2", "down", "enter")
            await settle(pilot, app)
            assert "[b]" in screen_text(app)

    async def test_ascii_only_lets_nothing_else_through(self):
        async with on_screen("stalled", ascii_only=True, size=(80, 24)) as (app, pilot, *_):
            text = screen_text(app)
            assert text.isascii()
            assert "# STALLED" in text
            assert "> weight sync 2:31 / 2:00" in text
            await pilot.press("question_mark")
            await settle(pilot, app)
            assert screen_text(app).isascii()


async def test_no_color_takes_an_ansi_theme_and_no_colour_comes_out(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with on_screen("stalled") as (app, pilot, *_):
        assert app.palette.ansi
        background = app.screen.background_colors[1]
        for strip in app.screen._compositor.render_strips():
            for line_filter in app.get_line_filters():
                strip = strip.apply_filter(line_filter, background)
            assert all(style is None or style.color is None or style.color.is_default for _, style, _ in strip)
        await pilot.press("t")
        assert app.palette.ansi


async def test_a_heat_grid_with_little_room_leaves_no_node_out():
    async with on_screen("many", calm=True) as (app, *_):
        text = screen_text(app)
        assert [node for node in range(32) if f"n{node:02d} " not in text] == [8]  # nothing is known of its ranks
        assert "□ no data" in text


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_pane_is_hidden_and_stays_so_for_the_project_until_its_key_is_pressed(size, tmp_path):
    log = str(tmp_path / "train.log")
    spec = WatchSpec(logs=(log,))
    async with on_screen("fleet_hung", size=size, panes=pane_choice(spec)) as (app, pilot, *_):
        await pilot.press("5", "x")
        await settle(pilot, app)
        assert "Ray" not in screen_text(app).split("6 Log")[0].split("next ")[-1]
        await until(pilot, lambda: "ray" in pane_choice(spec).hidden)
        assert not pane_choice(WatchSpec(logs=("/elsewhere/train.log",))).hidden
    async with on_screen("fleet_hung", size=size, panes=pane_choice(spec)) as (app, pilot, *_):
        assert "ray" in app.watch_screen.chosen.hidden
        await pilot.press("5")
        await settle(pilot, app)
        assert "5 Ray" in screen_text(app)
        await pilot.press("6", "x")
        assert not app.watch_screen.chosen.hidden
