"""Keys through the event loop, and the terminal left without waiting.

Textual reads keys in a thread that sits in `select` for 0.1 s at a time and is joined when an app ends: every app takes 0.2 s to
give the prompt back, and an idle one wakes up ten times a second (both measured). The event loop waits for keys for nothing.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO, cast

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from io import TextIOWrapper

    from hangtop.tui.shell import Shell

LEAVE_ON = (signal.SIGTERM, signal.SIGHUP)
"""Signals on which hangtop ends as by `q`, and restores the terminal."""
ESCAPE_S = 0.11
"""After this time an Esc alone is a key, and not the start of a key code; Textual's parser waits 0.1 s."""
READ_BYTES = 4096


class Terminal:
    """The terminal's file. Once the terminal has gone (window closed, SSH broken) writes are lost, and never block.

    Textual's writer thread would die of the failed write; its queue fills, and the next write blocks the app for ever.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.gone = False

    def write(self, text: str) -> int:
        return self._unless_gone(lambda: self._file.write(text))

    def flush(self) -> None:
        self._unless_gone(self._file.flush)

    def fileno(self) -> int:
        return self._file.fileno()

    def _unless_gone(self, act: Callable[[], int | None]) -> int:
        if not self.gone:
            try:
                return act() or 0
            except OSError:  # SIGHUP says so, too, and ends the app
                self.gone = True
        return 0


class QuickDriver(LinuxDriver):
    """Draws on stdout where Textual uses stderr: `hangtop … 2>err` must not leave the terminal blank."""

    def __init__(self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        drawn_on = sys.__stdout__ or sys.__stderr__
        self._file = None if drawn_on is None else cast("TextIOWrapper", Terminal(drawn_on))
        self._parser = XTermParser(debug)
        self._decode = getincrementaldecoder("utf-8")("replace").decode

    def _get_terminal_size(self) -> tuple[int, int]:
        """The terminal's own size. Textual prefers COLUMNS and LINES, which are wrong after a resize once exported."""
        with suppress(OSError):
            columns, lines = (0, 0) if self._file is None else os.get_terminal_size(self._file.fileno())
            if columns and lines:
                return columns, lines
        return super()._get_terminal_size()

    def start_application_mode(self) -> None:
        """Signals are handled from before the first byte to the terminal until the event loop is closed."""
        loop = asyncio.get_running_loop()
        for number in LEAVE_ON:
            loop.add_signal_handler(number, cast("Shell", self._app).action_leave)
        super().start_application_mode()  # type: ignore[no-untyped-call]
        loop.add_reader(self.fileno, self._read_keys)

    def run_input_thread(self) -> None:
        """Textual's input thread ends at once."""

    def disable_input(self) -> None:
        asyncio.get_running_loop().remove_reader(self.fileno)
        super().disable_input()

    def _read_keys(self) -> None:
        try:
            typed = os.read(self.fileno, READ_BYTES)
        except OSError:
            typed = b""
        if not typed:  # the terminal has gone; SIGHUP comes only where it was the controlling one
            asyncio.get_running_loop().remove_reader(self.fileno)
            cast("Shell", self._app).action_leave()
            return
        for event in self._parser.feed(self._decode(typed)):
            self.process_message(event)
        asyncio.get_running_loop().call_later(ESCAPE_S, self._settle_escape)

    def _settle_escape(self) -> None:
        for event in self._parser.tick():
            self.process_message(event)


def driver_class() -> type[Driver] | None:
    """`None` without a terminal: then Textual picks the driver."""
    return QuickDriver if sys.__stdin__ is not None and sys.__stdin__.isatty() else None
