"""The rank page: what differs from its peers, where it stands, and when it stopped."""

from __future__ import annotations

import pytest

from tests.app.play import on_screen, screen_text, settle


async def page_of_rank_3(width: int, height: int) -> str:
    async with on_screen("fleet_hung", calm=True, size=(width, height)) as (app, pilot, *_):
        await pilot.press("2", "down", "enter")
        await settle(pilot, app)
        return screen_text(app)


async def test_all_that_is_known_of_a_rank_stands_on_one_page() -> None:
    page = await page_of_rank_3(120, 40)
    assert "rank 3 of 8 · n1 · pid 133953 · GPU 3 · actor WorkerDict" in page
    for fact in ("▸ collective              41,207          41,208", "▸ GPU util                   0 %           100 %"):
        assert fact in page
    stack = [line for line in page.splitlines() if " fleet.py:" in line]
    assert [line.split()[-2:] for line in stack] == [
        ["_wait_for_shard", "fleet.py:88"], ["update_actor", "fleet.py:61"], ["train_step", "fleet.py:12"],
    ]  # fmt: skip
    assert "same in 2 looks" in page
    assert "GPU 3: at 0 %" in page


async def test_the_charts_show_when_it_stopped() -> None:
    page = await page_of_rank_3(120, 40)
    low = next(line for line in page.splitlines() if line.rstrip().endswith("▁") and " 2 % " in line)
    chart = low.rpartition("% ")[2]
    assert chart.rstrip("▁").strip("█") == ""
    assert 14 <= chart.count("▁") <= 17  # 151 s of silence, 10 s a column
    assert "now" in page


@pytest.mark.parametrize("width", [80, 99])
async def test_on_a_narrow_terminal_the_stack_stands_below_the_facts(width: int) -> None:
    lines = (await page_of_rank_3(width, 60)).splitlines()
    heads = [line.split()[0] for line in lines if "───" in line]
    assert heads[:4] == ["Against", "Stack", "Last", "Process"]


async def test_a_rank_stands_beside_its_peers_and_then_beside_each_of_them() -> None:
    async with on_screen("fleet_hung", calm=True) as (app, pilot, *_):
        await pilot.press("d")
        await settle(pilot, app)
        assert "rank 3 beside median of 7 peers" in screen_text(app)
        await pilot.press("right", "x")
        await settle(pilot, app)
        page = screen_text(app)
        assert "rank 0 beside rank 3" in page
        assert "◂ they part" in page
        await pilot.press("escape")
        await settle(pilot, app)
        assert app.screen is app.watch_screen
