"""`hangtop --log …`: the screen, or plain lines where there is no terminal."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common import clock
from hangtop.feeds.probe_feed import Feed, ProbeFeed
from hangtop.probe.log.stdin_pipe import farewell_to, take_keys
from hangtop.records.verdict import ENDED, Subscriber, VerdictWord
from hangtop.records.watch_spec import WatchSpec
from hangtop.tui.keymap import USUAL_KEYS, Keymap

if TYPE_CHECKING:
    from hangtop.guard.tell_others import TellOthers
    from hangtop.monitor.monitor import Looker
    from hangtop.tui.app import HangtopApp

Wrap = Callable[[Feed], Feed]
"""What wraps a feed, such as a recorder."""


class WatchOptions(Struct, frozen=True):
    """How it is shown. `as_lines`: plain, also on a terminal. `until`: the verdicts that end plain output.

    `started`: hangtop has just started the run, and asks before it leaves it. `others`: who tells others of it. `lookers`: see
    each look. `keymap`: the keys that the person chose. `compared`: files of a good and a bad run, whose differences come first.
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
    keymap: Keymap = USUAL_KEYS
    compared: tuple[str, str] | None = None

    @property
    def subscribers(self) -> tuple[Subscriber, ...]:
        return () if self.others is None else (self.others,)

    @property
    def all_lookers(self) -> tuple[Looker, ...]:
        return self.lookers if self.others is None else (*self.lookers, self.others.look)


def run(spec: WatchSpec, look: WatchOptions, wrap: Wrap = lambda feed: feed) -> int:
    """Watch until the person quits. The exit code is that of the last verdict in plain output, 0 on the screen."""
    on_screen = take_keys() and not look.as_lines and can_draw()
    feed = ProbeFeed(spec)
    if on_screen:
        feed.begin()
    from hangtop.monitor.told_state import StateTeller

    teller = StateTeller()
    look = replace(look, lookers=(*look.lookers, teller.look))
    try:
        meanwhile = _first_picture(feed) if len(spec.logs) == 1 else None
        return show(wrap(feed), spec, look, clock.now, on_screen=on_screen, meanwhile=meanwhile)
    finally:
        teller.close()
        with suppress(OSError, ValueError):  # a terminal that has closed
            sys.stderr.write(farewell_to(feed.drains))


class CannotShow(Exception):
    """Why there is no screen, in one line."""


def show(
    feed: Feed,
    spec: WatchSpec,
    look: WatchOptions,
    now: Callable[[], float],
    *,
    on_screen: bool,
    meanwhile: AbstractContextManager[Callable[[], None]] | None = None,
) -> int:
    """Show a feed. `meanwhile`: what is on the screen until the app is loaded, and what hands the terminal over to it."""
    feed = feed if look.others is None else look.others.around(feed)
    if not on_screen:
        return _as_lines(feed, spec, look, now)
    gc.disable()  # nothing that is loaded for the screen is garbage: to look for some takes a tenth of the start
    try:
        with meanwhile or nullcontext(lambda: None) as hand_over:
            app = _app(feed, spec, look, now)
            gc.freeze()
            gc.enable()
            hand_over()
            app.run()
    except CannotShow as why:
        sys.stderr.write(f"hangtop: {why}\n")
        return 2
    finally:
        feed.close()
    for problem in app.broken_themes:
        sys.stderr.write(f"hangtop: {problem}; it is left out\n")
    return app.return_code or 0


@contextmanager
def _first_picture(feed: ProbeFeed) -> Iterator[Callable[[], None]]:
    """What the screen needs besides Textual is loaded while the probe starts, and then what the probe tells is shown."""
    import hangtop.monitor.headless  # noqa: F401 - for the app
    from hangtop.cli.first_picture import first_picture

    with first_picture(feed) as hand_over:
        yield hand_over


def _app(feed: Feed, spec: WatchSpec, look: WatchOptions, now: Callable[[], float]) -> HangtopApp:
    """Textual is imported here, so that other commands start without it."""
    from hangtop.tui.app import HangtopApp
    from hangtop.tui.pane_choice import pane_choice
    from hangtop.tui.themes import ThemeError

    try:
        return HangtopApp(
            spec,
            feed,
            now=now,
            calm=look.calm,
            theme=look.theme,
            read_only=look.read_only,
            title=look.title,
            started=look.started,
            keymap=look.keymap,
            panes=pane_choice(spec),
            compared=look.compared,
            subscribers=look.subscribers,
            lookers=look.all_lookers,
            on_bundle=(lambda _: None) if look.others is None else look.others.bundled,
        )
    except ThemeError as error:
        raise CannotShow(str(error)) from error


def _as_lines(feed: Feed, spec: WatchSpec, look: WatchOptions, now: Callable[[], float]) -> int:
    from hangtop.cli.commands import plain

    if look.theme is not None and (problem := _no_theme(spec, look.theme)):
        feed.close()
        sys.stderr.write(f"hangtop: {problem}\n")
        return 2
    watching = plain.watch(feed, spec, sys.stdout, now, look.until, look.subscribers, look.all_lookers)
    try:
        return asyncio.run(watching).state.exit_code
    except BrokenPipeError:
        return plain.READER_GONE


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
