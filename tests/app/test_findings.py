"""The findings of the verdict page: folded, copied, and in Chinese, whose characters take two cells."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.logs.catalog.load import load
from hangtop.records.log import LogReading
from hangtop.records.reading import Reading
from hangtop.render.spans import width_of
from hangtop.tui.app import HangtopApp
from hangtop.tui.pages.verdict_page import VerdictScreen
from tests.app.play import app_on, screen_text, settle

SIZES = ((80, 24), (120, 40))


def in_chinese(log: LogReading) -> LogReading:
    """The findings as a probe in Chinese sends them, each seen twelve times."""
    known = load(lang="zh").signatures
    told = [
        replace(
            finding,
            cause=known[finding.id].cause,
            remedies=tuple(fix.remedy() for fix in known[finding.id].fixes({"verl"})),
            count=12,
            ranks=(0, 1, 2, 3, 5),
        )
        for finding in log.findings
    ]
    return replace(log, findings=tuple(told))


async def findings_page(app: HangtopApp, pilot, feed=None) -> VerdictScreen:  # type: ignore[no-untyped-def]
    await settle(pilot, app)
    if feed is not None:
        feed.put(Reading("log", "n1", app.view.now, in_chinese(app.state.log)))
    await settle(pilot, app)
    await pilot.press("enter")
    await settle(pilot, app)
    assert isinstance(app.screen, VerdictScreen)
    return app.screen


@pytest.mark.parametrize("size", SIZES)
async def test_chinese_stays_within_the_cells_of_the_screen(size):
    app, feed, _ = app_on("crashed")
    async with app.run_test(size=size) as pilot:
        page = await findings_page(app, pilot, feed)
        assert "显存" in screen_text(app)
        for _ in range(3):
            assert all(width_of(row) <= page.body.size.width for row in page.body.rows)
            assert {strip.cell_length for strip in page.body.render_lines(page.body.size.region)} == {page.body.size.width}
            await pilot.press("pagedown")
            await settle(pilot, app)


async def test_what_follows_a_cause_is_one_line_until_it_is_chosen():
    app, feed, _ = app_on("crashed")
    async with app.run_test(size=(120, 60)) as pilot:
        await findings_page(app, pilot, feed)
        assert "×12 on ranks 0-3 5" in screen_text(app)
        assert "follows cuda.oom, above" in screen_text(app)
        assert "worker-*-PID.err" not in screen_text(app)
        await pilot.press("down")
        await settle(pilot, app)
        assert "worker-*-PID.err" in screen_text(app)


@pytest.mark.parametrize("size", SIZES)
async def test_y_copies_the_chosen_fix_and_says_so(size):
    app, _, _ = app_on("crashed")
    async with app.run_test(size=size) as pilot:
        await findings_page(app, pilot)
        assert "verl config" in screen_text(app)
        assert "verl-project/verl#302" in screen_text(app) or size == (80, 24)
        await pilot.press("right", "y")
        await settle(pilot, app)
        assert app.clipboard == "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
        assert "✓ sent to the clipboard" in screen_text(app)
        await pilot.press("left")
        await settle(pilot, app)
        assert "✓ sent" not in screen_text(app)
