"""The footer: which keys stay when it is narrow, and which key a click means."""

from __future__ import annotations

import pytest

from hangtop.tui.keys import all_keys
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.pages.rank_page import RankScreen
from hangtop.tui.pages.stacks_page import StacksScreen
from hangtop.tui.pages.verdict_page import VerdictScreen
from hangtop.tui.panes.footer import footer_row, key_at
from tests.fakes.views import plain, view_of


def shown(width: int, name: str) -> list[str]:
    row = footer_row(view_of(name), width, all_keys(read_only=False, replay=False))
    return [text.strip() for text, role in row if role == "accent bold"]


def test_what_is_asked_for_most_stays_longest() -> None:
    assert shown(120, "fleet_healthy")[-4:] == ["/", "e", "?", "q"]
    assert shown(80, "fleet_healthy")[-2:] == ["?", "q"]
    assert {"s", "b", "k", "/"} <= set(shown(80, "fleet_healthy"))
    assert shown(24, "fleet_healthy") == ["?", "q"]


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", ["fleet_hung", "stalled", "many"])
def test_of_a_run_that_stands_the_keys_that_end_and_start_it_stay(name: str, width: int) -> None:
    assert {"s", "b", "k", "r", "!", "?", "q"} <= set(shown(width, name))


@pytest.mark.parametrize("page", [VerdictScreen, StacksScreen, RankScreen])
@pytest.mark.parametrize("width", [80, 60])
def test_a_narrow_page_names_the_way_back_and_its_own_keys_before_the_sources(page: type[PageScreen], width: int) -> None:
    text = plain(footer_row(view_of("fleet_hung"), width, page.keys, brief=True))
    for words in ("Esc back", "? help", "q quit", f"{page.keys[0].shown} {page.keys[0].word}"):
        assert words in text
    assert len(text) <= width


def test_a_click_means_the_key_below_it() -> None:
    row = footer_row(view_of("fleet_hung"), 120, all_keys(read_only=False, replay=False))
    text = plain(row)
    assert key_at(row, text.index("bundle") + 2) == "b"
    assert key_at(row, text.index("? help")) == "?"
    assert key_at(row, text.index("   b bundle") + 1) is None
    assert key_at(row, 119) is None
