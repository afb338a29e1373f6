"""The log pane as a person uses it: following, scrolling back, filter and search, several files."""

from __future__ import annotations

from contextlib import asynccontextmanager

from msgspec.structs import replace
from textual.events import Key

from hangtop.common import text
from hangtop.records.reading import Reading
from hangtop.tui.app import HangtopApp
from hangtop.tui.panes.log_pane import FilterPrompt
from tests.app.play import Clock, MemoryFeed, line, screen_text, session, settle


class TestLogPane:
    def setup_method(self):
        self.file = [
            line(
                100 * i,
                f"line {i}" + (" needle" if i % 1000 == 500 else ""),
                1_768_126_000.0 - 4000 + i,
                kind="error" if i % 700 == 3 else "plain",
            )
            for i in range(4000)
        ]

    @asynccontextmanager
    async def watched(self, newest: int = 300):
        """The end of a long log on the screen."""
        spec, readings, at = session("healthy")
        log = readings[0].value
        files = (replace(log.files[0], size_bytes=400_000),)
        readings[0] = replace(readings[0], value=replace(log, tail=tuple(self.file[-newest:]), files=files))
        feed = MemoryFeed(readings, self.file)
        app = HangtopApp(spec, feed, now=Clock(at))
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, app)
            yield app, pilot, feed

    async def more(self, app, feed, pilot, *lines):
        log = app.state.log
        feed.put(Reading("log", "n1", app.now(), replace(log, tail=lines, fresh=False)))
        await settle(pilot, app)

    async def test_it_follows(self):
        async with self.watched() as (app, pilot, feed):
            assert "line 3999" in screen_text(app)
            await self.more(app, feed, pilot, line(400_000, "a new line", app.now()))
            assert "a new line" in screen_text(app).splitlines()[-2]

    async def test_it_scrolls_back_beyond_the_tail_and_f_follows_again(self):
        async with self.watched(newest=60) as (app, pilot, feed):
            await pilot.press("6", *["pageup"] * 5)
            await settle(pilot, app)
            assert {ask.direction for ask in feed.asked} == {"back"}
            text = screen_text(app)
            assert "scrolled back" in text
            assert "line 3999" not in text
            assert min(log_line.offset for log_line in app.watch_screen.log_pane.model.lines) < 394_000
            await self.more(app, feed, pilot, line(400_000, "came meanwhile", app.now()))
            assert "came meanwhile" not in screen_text(app)
            await pilot.press("f")
            await settle(pilot, app)
            assert "came meanwhile" in screen_text(app)

    async def test_home_is_the_first_line_of_the_file(self):
        async with self.watched() as (app, pilot, *_):
            await pilot.press("6", "home")
            await settle(pilot, app)
            assert "line 0" in screen_text(app)
            await pilot.press("end")
            await settle(pilot, app)
            assert "line 3999" in screen_text(app)

    async def test_the_wheel_scrolls_and_the_end_follows_again(self):
        async with self.watched() as (app, *_):
            pane = app.watch_screen.log_pane
            pane.action_scroll(-9)
            assert not pane.model.following
            for _ in range(4):
                pane.action_scroll(3)
            assert pane.model.following

    async def test_a_filter_searches_the_whole_file_and_new_lines(self):
        async with self.watched() as (app, pilot, feed):
            await pilot.press("slash")
            await settle(pilot, app)
            assert isinstance(app.focused, FilterPrompt)
            await pilot.press(*"NEEDLE", "enter")
            await settle(pilot, app)
            assert feed.asked[-1].pattern == "NEEDLE"
            shown = [log_line.text for log_line in app.watch_screen.log_pane.model.visible(99)]
            assert shown == [f"line {i} needle" for i in (500, 1500, 2500, 3500)]
            await self.more(app, feed, pilot, line(400_000, "other", app.now()), line(400_100, "one more needle", app.now()))
            text = screen_text(app)
            assert "one more needle" in text
            assert "other" not in text
            assert '"NEEDLE"' in text
            await pilot.press("escape")
            await settle(pilot, app)
            assert "other" in screen_text(app)

    async def test_a_regex_goes_to_the_probe_and_a_bad_one_is_said(self):
        async with self.watched() as (app, pilot, feed):
            await pilot.press("slash", "tab", *"(a", "enter")
            await settle(pilot, app)
            assert "not a regex" in screen_text(app)
            await pilot.press("backspace", "backspace", *"lin.", "enter")
            await settle(pilot, app)
            assert (feed.asked[-1].pattern, feed.asked[-1].regex) == ("lin.", True)

    async def test_a_burst_of_keys_over_a_slow_line_reaches_the_prompt(self):
        async with self.watched() as (app, pilot, feed):
            for key in ("slash", *"tefnq1", "enter"):
                app.post_message(Key(key, "/" if key == "slash" else key if len(key) == 1 else None))
            await settle(pilot, app)
            await settle(pilot, app)
            assert feed.asked[-1].pattern == "tefnq1"
            assert app.palette.name == "dark"

    async def test_esc_leaves_the_prompt_without_a_filter(self):
        async with self.watched() as (app, pilot, feed):
            await pilot.press("slash", "x", "escape")
            await settle(pilot, app)
            assert not feed.asked
            assert "q quit" in screen_text(app)

    async def test_a_place_is_typed_and_marks_lead_back_to_it(self):
        async with self.watched() as (app, pilot, *_):
            log, at = app.watch_screen.log_pane, text.clock(self.file[1234].at)
            await pilot.press("6", "m", "J", *at, "enter")
            await settle(pilot, app)
            assert log.model.target == (0, 123_400)
            await pilot.press("m", "apostrophe")
            await settle(pilot, app)
            assert log.model.target == (0, 399_900)
            await pilot.press("apostrophe")
            await settle(pilot, app)
            assert log.model.target == (0, 123_400)
            await pilot.press("J", "up", "enter")
            await settle(pilot, app)
            assert "line 1234" in screen_text(app)
            await pilot.press("w", "end")
            await settle(pilot, app)
            assert log.wraps

    async def test_only_errors_and_stages(self):
        async with self.watched() as (app, pilot, feed):
            await pilot.press("e")
            await settle(pilot, app)
            assert feed.asked[-1].kinds == ("stage", "error")
            assert {log_line.kind for log_line in app.watch_screen.log_pane.model.visible(99)} == {"error"}
            assert "errors and stages" in screen_text(app)
            await pilot.press("e")
            await settle(pilot, app)
            assert "line 3999" in screen_text(app)

    async def test_n_goes_to_the_next_line_with_the_text_among_all_lines(self):
        async with self.watched() as (app, pilot, *_):
            await pilot.press("slash", *"needle", "enter")
            await settle(pilot, app)
            await pilot.press("N")
            await settle(pilot, app)
            model = app.watch_screen.log_pane.model
            assert model.target == (0, 250_000)
            assert "line 2499" in screen_text(app)
            assert "line 2501" in screen_text(app)
            await pilot.press("N")
            await settle(pilot, app)
            assert model.target == (0, 150_000)
            await pilot.press("n")
            await settle(pilot, app)
            assert model.target == (0, 250_000)
            await pilot.press("n", "n")
            await settle(pilot, app)
            assert "no other line" in screen_text(app)

    async def test_several_files_stand_merged_and_each_alone(self):
        spec, readings, at = session("many")
        app = HangtopApp(spec, MemoryFeed(readings), now=Clock(at))
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, app)
            assert "256 files" in screen_text(app)
            assert "rank 150" in screen_text(app)
            await pilot.press("right_square_bracket")
            await settle(pilot, app)
            assert "rank-000.log (1 of 256)" in screen_text(app)
            await pilot.press("left_square_bracket")
            await settle(pilot, app)
            assert "256 files" in screen_text(app)
