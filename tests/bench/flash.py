"""What the alarm of a stalled run costs the terminal while it flashes."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.bench.logs import LAST, scratch, write_log
from tests.bench.options import Options
from tests.bench.pty_meter import PtyMeter
from tests.bench.row import Row
from tests.fakes.processes import running

FLASH_S = 8.0
STALL_S = 6
LOG_BYTES = 2_000_000


def rows(options: Options) -> Iterator[Row]:
    with scratch() as folder:
        log = write_log(folder / "train.log", LOG_BYTES, mix="quiet")
        command = (sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off", "--stall", str(STALL_S))
        with running("sh", "-c", f"exec 3>>{log}; exec sleep 600"), PtyMeter(command) as terminal:
            terminal.until(LAST)
            terminal.until("STALLED")
            terminal.read(1.0)
            window = terminal.window(FLASH_S)
    yield Row("a stalled run flashes: to the terminal", window.bytes_s, "B/s", 1000)
