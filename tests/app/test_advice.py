"""Why and do: in the band on every size of screen, on the page of the verdict, and in what `r` offers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from hangtop.records.advice import Advice
from hangtop.records.plan import Start
from hangtop.remedies.advise import advice
from hangtop.render.advice_rows import choices
from hangtop.tui.open_action import _presets
from hangtop.tui.pages.verdict_page import VerdictScreen, by_places
from tests.app.play import on_screen, screen_text, seen, settle, until

SIZES = ((80, 24), (120, 40))


def lines_of(text: str, word: str) -> list[str]:
    return [line for line in text.splitlines() if re.match(rf" ▌ +{word} ", line)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["fleet_hung", "stalled", "crashed", "many", "slow"])
async def test_under_a_verdict_that_is_not_green_the_band_says_why_and_what_to_do(name, size):
    async with on_screen(name, size, calm=True) as (app, _, _, _):
        shown = screen_text(app)
        (why,), (do,) = lines_of(shown, "why"), lines_of(shown, "do")
        first = app.view.advice[0]
        assert first.cause[:30] in why
        assert (first.paste or first.remedy)[:20] in do or first.remedy[:20] in do
        assert "Enter" in do
        assert all(len(line) <= size[0] for line in (why, do))


@pytest.mark.parametrize("name", ["healthy", "finished", "startup"])
async def test_a_green_band_says_neither(name):
    async with on_screen(name, calm=True) as (app, _, _, _):
        assert app.view.advice == ()
        assert lines_of(screen_text(app), "why") == []


@pytest.mark.parametrize("size", SIZES)
async def test_its_page_holds_all_causes_commands_and_sources(size):
    async with on_screen("fleet_hung", size, calm=True) as (app, pilot, _, _):
        await pilot.press("enter")
        await seen(pilot, app, "Why and do")
        assert isinstance(app.screen, VerdictScreen)
        page = "\n".join("".join(text for text, _ in row) for row in app.screen.rows(app.view, 400))
        for each in by_places(app.view):
            assert each.cause in page
            assert each.remedy.partition(": ")[0] in page
            assert each.source in page
            assert all(asked in page for asked in each.tell_apart)


async def test_y_copies_the_remedy_or_the_command_that_the_arrows_choose():
    async with on_screen("fleet_hung", calm=True) as (app, pilot, _, _):
        texts = [choice.text for choice in choices(by_places(app.view))]
        pastes = [each.paste for each in by_places(app.view) if each.paste]
        first = texts.index(pastes[0])
        assert {*pastes, *(asked for each in by_places(app.view) for asked in each.tell_apart)} == {*texts}
        await pilot.press("enter", "y")
        await settle(pilot, app)
        assert app.clipboard == pastes[0]
        await pilot.press("right", "y")
        await settle(pilot, app)
        assert app.clipboard == texts[first + 1]
        await pilot.press("left", "left", "y")
        await settle(pilot, app)
        assert app.clipboard == texts[first - 1]


@pytest.fixture
def told_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """From then on the first cause is told by this command."""

    def tell(command: str) -> None:
        def advised(*known: Any) -> tuple[Advice, ...]:
            first, *others = advice(*known)
            return (replace(first, tell_apart=(command,)), *others)

        monkeypatch.setattr("hangtop.remedies.advise.advice", advised)

    return tell


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("read_only", [False, True])
async def test_i_runs_the_command_that_tells_the_cause_and_shows_what_it_printed(size, read_only, told_by):
    told_by(f"ps -o pid:5,comm -p {os.getpid()}")
    async with on_screen("fleet_hung", size, calm=True, read_only=read_only) as (app, pilot, _, _):
        await pilot.press("enter")
        await seen(pilot, app, "Why and do")
        await pilot.press("i")
        shown = await seen(pilot, app, f"{os.getpid()} ")
        assert "│   PID COMMAND" in shown
        assert "after 0." in shown
        assert "▸ ps -o pid:5,comm" in shown


async def test_what_may_do_more_than_read_is_only_copied(told_by):
    told_by("hangtop stacks --pid 7 --native")
    async with on_screen("fleet_hung", calm=True) as (app, pilot, _, _):
        await pilot.press("enter")
        await seen(pilot, app, "Why and do")
        await pilot.press("i")
        await seen(pilot, app, "copy it: y (not run from here: hangtop with these options may do more than read)")
        assert all(worker.name != "tell" for worker in app.workers)
        await pilot.press("y")
        await settle(pilot, app)
        assert app.clipboard == "hangtop stacks --pid 7 --native"


@pytest.mark.parametrize("size", SIZES)
async def test_keys_go_on_while_a_command_works_and_leaving_ends_it(size, told_by):
    told_by("sleep 5")
    async with on_screen("fleet_hung", size, calm=True) as (app, pilot, _, _):
        await pilot.press("enter")
        await seen(pilot, app, "Why and do")
        await pilot.press("i")
        await seen(pilot, app, "at work …")
        await pilot.press("i", "right", "escape")
        await until(pilot, lambda: not isinstance(app.screen, VerdictScreen))
        await until(pilot, lambda: all(worker.name != "tell" or worker.is_finished for worker in app.workers))


@pytest.mark.parametrize("size", SIZES)
async def test_the_footer_of_a_run_that_stands_stops_and_restarts_it(size):
    async with on_screen("fleet_hung", size, calm=True) as (app, _, _, _):
        footer = screen_text(app).splitlines()[-1]
        for words in ("s stacks", "b bundle", "k stop", "r restart", "! recover", "? help", "q quit"):
            assert words in footer
        assert "ETA" not in screen_text(app).splitlines()[0]


async def test_r_offers_first_what_the_advice_names():
    async with on_screen("many", calm=True) as (app, _, _, _):
        named = list(dict.fromkeys(each.preset for each in app.view.advice if each.preset))
        offered = [preset.id for preset in _presets(app, Start(("python", "train.py"), "/", "train.log", interfaces=("eth0",)))]
        assert named
        assert offered[: len(named)] == named
