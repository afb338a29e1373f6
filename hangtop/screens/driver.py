"""Leaving the terminal without waiting.

Textual joins its input thread when an app ends. That thread sits in two `select` calls of 0.1 s, so every app takes 0.2 s to give
the prompt back (measured). It holds nothing that must be put away: on the way out it may simply be left.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import termios
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from hangtop.app import HangtopApp

LEAVE_ON = (signal.SIGTERM, signal.SIGHUP)
"""The terminal is restored on these as on `q`."""


class QuickDriver(LinuxDriver):
    """`leaving` is set by the app before it ends; a suspended app still waits for the thread, because it goes on later.

    Draws on stdout, where Textual takes stderr: `hangtop … 2>err` must not leave the terminal blank.
    """

    leaving = False

    def __init__(self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file = sys.__stdout__ or sys.__stderr__

    def start_application_mode(self) -> None:
        """Signals are heard from before the first byte to the terminal on, until the event loop is closed."""
        for number in LEAVE_ON:
            asyncio.get_running_loop().add_signal_handler(number, cast("HangtopApp", self._app).action_leave)
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def disable_input(self) -> None:
        if not self.leaving or self.exit_event.is_set():
            super().disable_input()
            return
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        self._disable_mouse_support()
        self.exit_event.set()
        with suppress(termios.error):
            termios.tcflush(self.fileno, termios.TCIFLUSH)


def driver_class() -> type[Driver] | None:
    """`None`: as Textual picks it, where there is no terminal."""
    return QuickDriver if sys.__stdin__ is not None and sys.__stdin__.isatty() else None
