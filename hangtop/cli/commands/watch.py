"""`hangtop --log …`: the screen, or plain lines where there is no terminal."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from hangtop.common import clock
from hangtop.feeds.probe_feed import Feed, ProbeFeed
from hangtop.probe.log.stdin_pipe import farewell_to, take_keys
from hangtop.records.verdict import ENDED, VerdictWord
from hangtop.records.watch_spec import WatchSpec

if TYPE_CHECKING:
    from hangtop.guard.tell_others import TellOthers
    from hangtop.monitor.monitor import Looker

Wrap = Callable[[Feed], Feed]
"""What wraps a feed, such as a recorder."""


class WatchOptions(Struct, frozen=True):
    """How it is shown. `as_lines`: plain, also on a terminal. `until`: the verdicts that end plain output.

    `started`: hangtop has just started the run, and asks before it leaves it. `others`: who tells others of it. `lookers`: see
    each look.
    """

    as_lines: bool = False
    calm: bool = False
    read_only: bool = False
    started: bool = False
    theme: str | None = None
    title: str = ""
    until: frozenset[VerdictWord] = ENDED
    others: TellOthers | None = None
    lookers: tuple[Looker, ...] = ()


def run(spec: WatchSpec, look: WatchOptions, wrap: Wrap = lambda feed: feed) -> int:
    """Watch until the person quits. The exit code is that of the last verdict in plain output, 0 on the screen."""
    on_screen = take_keys() and not look.as_lines and can_draw()
    feed = ProbeFeed(spec)
    if on_screen:
        feed.begin()
    try:
        return show(wrap(feed), spec, look, clock.now, on_screen=on_screen)
    finally:
        with suppress(OSError, ValueError):  # a terminal that has closed
            sys.stderr.write(farewell_to(feed.drains))


def show(feed: Feed, spec: WatchSpec, look: WatchOptions, now: Callable[[], float], *, on_screen: bool) -> int:
    """Show a feed. Textual is imported here, so that other commands start without it."""
    others = look.others
    subscribers = () if others is None else (others,)
    lookers = look.lookers if others is None else (*look.lookers, others.look)
    feed = feed if others is None else others.around(feed)
    if not on_screen:
        from hangtop.cli.commands import plain

        if look.theme is not None and (problem := _no_theme(spec, look.theme)):
            feed.close()
            sys.stderr.write(f"hangtop: {problem}\n")
            return 2
        try:
            return asyncio.run(plain.watch(feed, spec, sys.stdout, now, look.until, subscribers, lookers)).state.exit_code
        except BrokenPipeError:
            return plain.READER_GONE
    gc.disable()  # nothing that is loaded for the screen is garbage: to look for some takes a tenth of the start
    from hangtop.tui.app import HangtopApp
    from hangtop.tui.themes import ThemeError

    try:
        app = HangtopApp(
            spec,
            feed,
            now=now,
            calm=look.calm,
            theme=look.theme,
            read_only=look.read_only,
            title=look.title,
            started=look.started,
            subscribers=subscribers,
            lookers=lookers,
            on_bundle=(lambda _: None) if others is None else others.bundled,
        )
    except ThemeError as error:
        feed.close()
        sys.stderr.write(f"hangtop: {error}\n")
        return 2
    for problem in app.broken_themes:
        sys.stderr.write(f"hangtop: {problem}; it is left out\n")
    gc.freeze()
    gc.enable()
    try:
        app.run()
    finally:
        feed.close()
    return app.return_code or 0


def _no_theme(spec: WatchSpec, name: str) -> str | None:
    """Why this theme cannot be used. Plain lines need no theme, but its name may be wrong."""
    from hangtop.tui.themes import ThemeError, load_palettes, pick_palette

    broken: list[str] = []
    try:
        palettes = load_palettes(spec.config_dir, broken.append)
        pick_palette(palettes, name, no_color=False, broken=broken)
    except ThemeError as error:
        return str(error)
    return None


def can_draw() -> bool:
    """Whether stdout is a terminal that can be drawn on; a `dumb` one (an editor's shell) cannot."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
