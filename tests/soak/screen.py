"""hangtop's screen in a pseudo-terminal that forgets what it has drawn over, for hours."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pyte

from hangtop.render.verdict_labels import DRIVER_HUNG, LOOKS, NO_WRITER, OVERDUE, QUIET
from tests.bench.pty_meter import end_with_probes, installed, take_terminal

COLUMNS, LINES = 140, 44
BADGES = {label.word: str(word) for word, label in LOOKS.items()} | {
    QUIET.word: "running",
    OVERDUE.word: "running",
    NO_WRITER.word: "no writer",
    DRIVER_HUNG.word: "driver hung",
}
BADGE = re.compile("|".join(rf"{re.escape(label.sign)} {re.escape(label.word)}" for label in (*LOOKS.values(), QUIET, NO_WRITER)))


class Screen:
    """Started on entry with its recording; its session and its probe are killed on exit."""

    def __init__(self, log: Path, recording: Path, environment: Mapping[str, str]) -> None:
        self._command = (sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off", "--record", str(recording))
        self._environment = environment
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)

    def __enter__(self) -> Screen:
        self._master, slave = os.openpty()
        shown = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        shown |= {"COLUMNS": str(COLUMNS), "LINES": str(LINES)}
        ends = {"stdin": slave, "stdout": slave, "stderr": slave}
        environment = {**installed(), **self._environment, **shown}
        self.process = subprocess.Popen(self._command, **ends, env=environment, preexec_fn=take_terminal)
        os.close(slave)
        os.set_blocking(self._master, False)
        return self

    def __exit__(self, *_: object) -> None:
        end_with_probes(self.process, self._master)

    def word(self, seconds: float) -> str:
        """What the badge says after so many seconds; empty when there is none."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._master], [], [], left)[0]:
                break
            self._stream.feed(os.read(self._master, 65536))
        found = BADGE.search("\n".join(self._screen.display[:3]))
        return BADGES[found.group()[2:]] if found else ""

    def text(self) -> str:
        """What stands there now."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def processes(self) -> dict[str, psutil.Process]:
        """The screen, and the largest of all that it started: the probe."""
        own = psutil.Process(self.process.pid)
        held: dict[psutil.Process, int] = {}
        for each in own.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                held[each] = each.memory_info().rss
        return {"screen": own, **({"probe": max(held, key=held.__getitem__)} if held else {})}

    def started(self) -> list[str]:
        """The command lines of all that hangtop has started and that lives."""
        told = []
        for each in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.Error):
                told.append(" ".join(each.cmdline())[-60:])
        return told
