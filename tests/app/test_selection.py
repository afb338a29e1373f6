"""Keys and mouse choose, open and go back."""

from __future__ import annotations

from textual.events import Key

from hangtop.records.health import Rewind
from hangtop.records.reading import Reading
from hangtop.tui.keys import all_keys
from hangtop.tui.pages.help_page import HelpScreen
from hangtop.tui.pages.rank_page import RankScreen
from hangtop.tui.pages.verdict_page import VerdictScreen
from tests.app.play import on_screen, screen_text, session, settle


async def test_the_choice_is_a_rank_not_a_line():
    async with on_screen("healthy") as (app, pilot, feed, *_):
        await pilot.press("2", "down", "down", "down", "down")
        assert app.watch_screen.ranks_pane.chosen == 3
        _, readings, _ = session("stalled")
        for reading in readings:
            feed.put(reading)
        await settle(pilot, app)
        assert app.watch_screen.ranks_pane.chosen == 3
        assert "▸    3 " in screen_text(app)
        await pilot.press("escape")
        assert app.watch_screen.ranks_pane.chosen is None


async def test_arrows_choose_a_rank_without_a_focus_and_a_burst_of_keys_is_not_lost():
    async with on_screen("stalled") as (app, pilot, *_):
        await pilot.press("down")
        assert app.watch_screen.ranks_pane.chosen == 3
        await pilot.press("escape")
        for key in ("2", "down", "enter"):
            app.post_message(Key(key, None))
        await settle(pilot, app)
        await settle(pilot, app)
        assert isinstance(app.screen, RankScreen)


async def test_enter_shows_everything_known_of_the_chosen_rank_and_arrows_go_on():
    async with on_screen("stalled") as (app, pilot, *_):
        await pilot.press("2", "down", "enter")
        await settle(pilot, app)
        assert isinstance(app.screen, RankScreen)
        text = screen_text(app)
        assert "CULPRIT" in text
        assert "Against its 7 peers" in text
        assert "UserWarning" in text
        await pilot.press("down")
        await settle(pilot, app)
        assert "rank 4 of 8" in screen_text(app)
        await pilot.press("escape")
        await settle(pilot, app)
        assert app.watch_screen.ranks_pane.chosen == 4


async def test_enter_without_a_choice_shows_findings_with_cause_and_fixes_and_jumps_to_the_line():
    async with on_screen("crashed") as (app, pilot, feed, *_):
        await pilot.press("enter")
        await settle(pilot, app)
        assert isinstance(app.screen, VerdictScreen)
        text = screen_text(app)
        assert "A GPU ran out of memory" in text
        assert "gpu_memory_utilization" in text
        feed.file = list(app.state.tail)
        await pilot.press("enter")
        await settle(pilot, app)
        assert app.screen is app.watch_screen
        assert app.watch_screen.log_pane.model.target == (0, 100_200)
        assert not app.watch_screen.log_pane.model.following


async def test_digits_focus_maximise_and_come_back():
    async with on_screen("healthy") as (app, pilot, *_):
        await pilot.press("6")
        await settle(pilot, app)
        assert "━" in next(line for line in screen_text(app).splitlines() if " 6 Log" in line)
        await pilot.press("6")
        await settle(pilot, app)
        text = screen_text(app)
        assert "2 Ranks" not in text
        assert "6 Log" in text
        await pilot.press("6")
        await settle(pilot, app)
        assert "2 Ranks" in screen_text(app)


async def test_help_names_every_key_there_is():
    async with on_screen("healthy") as (app, pilot, *_):
        await pilot.press("question_mark")
        await settle(pilot, app)
        text = screen_text(app)
        await pilot.press("end")
        await settle(pilot, app)
        text += screen_text(app)
        for key in all_keys(read_only=False, replay=False):
            assert key.help in text
        await pilot.press("question_mark", "escape")
        await settle(pilot, app)
        assert app.screen is app.watch_screen


class TestMouse:
    async def test_a_click_chooses_a_rank_and_a_second_one_opens_it(self):
        async with on_screen("stalled") as (app, pilot, *_):
            await pilot.click("#ranks", offset=(10, 4))
            await settle(pilot, app)
            assert app.watch_screen.ranks_pane.chosen == 1
            await pilot.click("#ranks", offset=(10, 4))
            await settle(pilot, app)
            assert isinstance(app.screen, RankScreen)

    async def test_a_click_brings_the_keys_with_it_from_another_pane(self):
        async with on_screen("stalled") as (app, pilot, *_):
            await pilot.press("6")
            await pilot.click("#ranks", offset=(10, 4))
            await pilot.press("enter")
            await settle(pilot, app)
            assert isinstance(app.screen, RankScreen)

    async def test_a_click_where_ranks_were_before_a_replay_was_set_back_chooses_nothing(self):
        async with on_screen("stalled", size=(80, 24)) as (app, pilot, feed, clock):
            feed.put(Reading("replay", "", clock.now, Rewind()))
            await settle(pilot, app)
            await pilot.click("#ranks", offset=(10, 2))
            await settle(pilot, app)
            assert app.watch_screen.ranks_pane.chosen is None

    async def test_the_keys_under_a_page_are_clicked_like_those_of_the_screen(self):
        async with on_screen("stalled") as (app, pilot, *_):
            for word, page in (("? help", HelpScreen), ("t theme", HelpScreen), ("Esc back", type(app.screen))):
                theme = app.theme
                last = screen_text(app).rstrip("\n").splitlines()[-1]
                await pilot.click(offset=(last.index(word) + 1, app.size.height - 1))
                await settle(pilot, app)
                assert isinstance(app.screen, page)
                assert (app.theme != theme) == (word == "t theme")

    async def test_a_click_on_the_verdict_opens_it(self):
        async with on_screen("stalled") as (app, pilot, *_):
            await pilot.click("#verdict", offset=(10, 0))
            await settle(pilot, app)
            assert isinstance(app.screen, VerdictScreen)
