"""The first picture: the log's last lines, painted while the screen is still loading.

Textual alone takes longer to load than the probe to say how the log ends. Here too nothing is read that may block: the probe
reads. The screen paints over it.
"""

from __future__ import annotations

import locale
import os
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from hangtop.common import clock
from hangtop.common.text import ascii_only, duration, size, speaks_utf8
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.records.log import LogReading
from hangtop.render.spans import Row, between, cut, plain
from hangtop.translations import say

WITHIN_S = 0.5
"""A probe that has told nothing of the log by then is on a slow machine, or the log is: the screen tells it."""
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J", "\x1b[?25h\x1b[?1049l"
"""The other screen of the terminal, without a cursor. The app enters it again, which changes nothing, and leaves it."""
IFLAG, LFLAG = 0, 3
"""Their places in what `tcgetattr` returns."""
KEPT = ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
SENT = ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)


@contextmanager
def first_picture(feed: ProbeFeed) -> Iterator[Callable[[], None]]:
    """Show the log's end, if the probe tells it at once. What is yielded is to be called right before the app begins: then the
    terminal is as it was, but for what is on it. Keys typed meanwhile wait for the app."""
    log = feed.first(LogReading, WITHIN_S)
    columns, lines = os.get_terminal_size(1)
    if log is None or not log.tail or not columns or not lines:
        yield lambda: None
        return
    before = termios.tcgetattr(0)
    for number in (signal.SIGTERM, signal.SIGHUP):  # until the app hears them
        signal.signal(number, lambda *_: _leave(before))
    try:
        _hush()
        _write(ENTER + "\r\n".join(map(_shown, picture(log, columns, lines, clock.now()))))
        yield lambda: termios.tcsetattr(0, termios.TCSANOW, before)
    except BaseException:
        with suppress(termios.error):  # a terminal that has gone
            termios.tcsetattr(0, termios.TCSANOW, before)
        _write(LEAVE)
        raise


def picture(log: LogReading, columns: int, lines: int, now: float) -> list[Row]:
    """The run, how long it is quiet, and as many of its last lines as there is room for."""
    file = log.files[0]
    quiet = "" if log.last_output_at is None else say(f"quiet {duration(now - log.last_output_at)}")
    left: Row = ((f" hangtop  {Path(file.path).name}   {size(file.size_bytes)}", ""),)
    head = between(left, ((say("reading …"), ""), (f"   {quiet} ", "")), columns - 1)
    return [cut(head, columns - 1), (), *(cut(((f" {line.text}", ""),), columns - 1) for line in log.tail[-max(0, lines - 2) :])]


def _hush() -> None:
    """No key shows on the screen or is taken for a command to the terminal, as in the app itself."""
    mode = termios.tcgetattr(0)
    mode[LFLAG] &= KEPT
    mode[IFLAG] &= SENT
    termios.tcsetattr(0, termios.TCSANOW, mode)


def _shown(row: Row) -> str:
    text = plain(row)
    return text if speaks_utf8(os.environ, locale.getpreferredencoding(False)) else ascii_only(text)


def _write(text: str) -> None:
    """Without a buffer: a signal may come amid a write, and its handler writes too."""
    left = text.encode(sys.stdout.encoding or "utf-8", "replace")
    with suppress(OSError):  # a terminal that has gone
        while left:
            left = left[os.write(1, left) :]


def _leave(before: list[Any]) -> NoReturn:
    """The end by a signal, at once: raised amid the start of the app it may be lost. The probe ends with its pipe."""
    with suppress(termios.error):
        termios.tcsetattr(0, termios.TCSANOW, before)
    _write(LEAVE)
    os._exit(0)
