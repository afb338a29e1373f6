"""Ctrl-P: every command by its words, with its key, and why it is off."""

from __future__ import annotations

from textual.command import CommandPalette
from textual.widgets import OptionList

from hangtop.tui.app import HangtopApp
from hangtop.tui.dialogs.action_dialog import ActionScreen
from hangtop.tui.dialogs.palette import KeyCommands
from hangtop.tui.keymap import keymap
from hangtop.tui.keys import ACT, LOOK
from hangtop.tui.pages.help_page import HelpScreen
from tests.app.play import Clock, MemoryFeed, screen_text, session, settle


def watched(**options) -> HangtopApp:
    spec, readings, at = session("healthy")
    return HangtopApp(spec, MemoryFeed(readings), now=Clock(at), calm=True, **options)


async def typed(pilot, app, words: str) -> None:
    await settle(pilot, app)
    await pilot.press("ctrl+p")
    await pilot.pause()
    assert isinstance(app.screen, CommandPalette)
    await pilot.press(*words)
    for _ in range(100):
        await pilot.pause(0.02)
        if app.screen.query_one(OptionList).option_count == 1:
            return


async def test_a_command_is_found_by_its_words_and_done():
    app = watched()
    async with app.run_test(size=(120, 40)) as pilot:
        await typed(pilot, app, "this help")
        await pilot.press("enter")
        for _ in range(100):
            await pilot.pause(0.02)
            if isinstance(app.screen, HelpScreen):
                break
        assert isinstance(app.screen, HelpScreen)


async def test_a_dangerous_command_opens_its_plan_and_no_more():
    app = watched()
    stop = next(key for key in ACT if key.action == "act('stop')")
    async with app.run_test(size=(120, 40)) as pilot:
        await typed(pilot, app, stop.help)
        await pilot.press("enter")
        for _ in range(100):
            await pilot.pause(0.02)
            if isinstance(app.screen, ActionScreen):
                break
        assert isinstance(app.screen, ActionScreen)
        assert not app.under_way


async def test_each_command_says_why_it_is_off():
    for options, why in (({"read_only": True}, "off: --read-only"), ({}, None)):
        app = watched(**options)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot, app)
            provider = KeyCommands(app.screen)
            said = {key.shown: provider.off(key) for key in (*ACT, *LOOK)}
            assert said["k"] == why
            assert said["s"] is None
            assert said["?"] is None


async def test_a_command_has_the_key_that_the_person_chose():
    app = watched(keymap=keymap({"preset": "vi", "help": "H", "pane_log": "L", "locals": "F9"}))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, app)
        assert "H help" in screen_text(app)
        await pilot.press("j", "j", "k")
        assert app.watch_screen.ranks_pane.chosen == app.view.ranks[0].rank
        await pilot.press("6", "question_mark")
        assert (app.active, app.screen) == ("ranks", app.watch_screen)
        await pilot.press("L", "H")
        await pilot.pause()
        assert app.active == "log"
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape", "K")
        await pilot.pause()
        assert isinstance(app.screen, ActionScreen)


async def test_letters_typed_into_it_are_no_keys():
    app = watched()
    async with app.run_test(size=(120, 40)) as pilot:
        await typed(pilot, app, "qk!r")
        assert isinstance(app.screen, CommandPalette)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is app.watch_screen
        assert app.is_running
