"""`hangtop --log …`: the screen, or plain lines where there is no terminal."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from hangtop import clock
from hangtop.feeds import Feed, ProbeFeed
from hangtop.records.verdict import ENDED, VerdictWord
from hangtop.spec import WatchSpec

Wrap = Callable[[Feed], Feed]
"""What is put around a feed, such as a recorder."""


class StdinError(Exception):
    """There is no stdin to read. The message is one line."""


class Look(Struct, frozen=True):
    """How it is shown. `as_lines`: plain, also on a terminal. `until`: the verdicts that end plain output.

    `started`: hangtop has just started the run, and asks before it leaves it.
    """

    as_lines: bool = False
    calm: bool = False
    read_only: bool = False
    started: bool = False
    theme: str | None = None
    title: str = ""
    until: frozenset[VerdictWord] = ENDED


def run(spec: WatchSpec, look: Look, wrap: Wrap = lambda feed: feed) -> int:
    """Watch until the person quits; the exit code is that of the last verdict in plain output, 0 on the screen."""
    spec, has_keys = keep_stdin(spec)
    on_screen = has_keys and not look.as_lines and can_draw()
    feed = ProbeFeed(spec)
    if on_screen:
        feed.begin()
    return show(wrap(feed), spec, look, clock.now, on_screen=on_screen)


def show(feed: Feed, spec: WatchSpec, look: Look, now: Callable[[], float], *, on_screen: bool) -> int:
    """Show a feed. Textual is imported here and nowhere before, so that the other commands start without it."""
    if not on_screen:
        from hangtop.commands import plain

        if look.theme is not None and (problem := _no_theme(spec, look.theme)):
            feed.close()
            sys.stderr.write(f"hangtop: {problem}\n")
            return 2
        return plain.run(feed, spec, sys.stdout, now, look.until)
    gc.disable()  # nothing that is loaded for the screen is garbage: to look for some takes a tenth of the start
    from hangtop.app import HangtopApp
    from hangtop.themes import ThemeError

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
        )
    except ThemeError as error:
        feed.close()
        sys.stderr.write(f"hangtop: {error}\n")
        return 2
    gc.freeze()
    gc.enable()
    try:
        app.run()
    finally:
        feed.close()
    return app.return_code or 0


def _no_theme(spec: WatchSpec, name: str) -> str | None:
    """Why this theme cannot be had. Plain lines need none, but who names one wants to know now, not on the next screen."""
    from hangtop.themes import ThemeError, load_palettes, pick_palette, theme_folders

    try:
        pick_palette(load_palettes(*theme_folders(spec.config_dir)), name, no_color=False)
    except ThemeError as error:
        return str(error)
    return None


def can_draw() -> bool:
    """Whether stdout is a terminal that knows more than lines: a `dumb` one (an editor's shell) shows control codes raw."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def keep_stdin(spec: WatchSpec) -> tuple[WatchSpec, bool]:
    """With `--log -` the pipe goes to the probe under another number, and keys come from the terminal itself, if there is one.

    Raises `StdinError` when stdin is closed.
    """
    if "-" in spec.logs:
        try:
            spec = replace(spec, stdin_fd=os.dup(0))
        except OSError as error:
            raise StdinError("--log - reads stdin, but stdin is closed: … | hangtop --log -") from error
    return spec, ("-" not in spec.logs and os.isatty(0)) or _keys_from_terminal()


def _keys_from_terminal() -> bool:
    """Where stdin is a pipe, null or closed, the terminal itself takes its place, if there is one."""
    try:
        keys = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    if keys != 0:
        os.dup2(keys, 0)
        os.close(keys)
    if sys.__stdin__ is None:  # it was closed; the screen asks for it by this name
        sys.stdin = sys.__stdin__ = os.fdopen(0)  # type: ignore[misc]
    return True
