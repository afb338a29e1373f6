"""Somebody else's process: it lives on, and writes down each signal that it is sent.

stranger.py FOLDER [WORD …]        WORDs only stand on the command line
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

FOLDER = Path(sys.argv[1])


def note(number: int, _: object) -> None:
    with (FOLDER / f"signals-{os.getpid()}").open("a") as file:
        file.write(f"{signal.Signals(number).name}\n")


for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT):
    signal.signal(number, note)
while True:
    time.sleep(1)
