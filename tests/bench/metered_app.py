"""hangtop itself, with a clock on its event loop: `python -m tests.bench.metered_app FILE OPTION …`.

Writes to FILE each second what it knows of itself. A wake-up is late because the loop was at work or because the machine gave the
core to somebody else; `own` is the part that the loop's own CPU time explains, which is what a key would wait on a free machine.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import hangtop.tui.app
from hangtop.cli.main import hangtop as command_line

WAKE_S = 0.01
WRITE_S = 1.0
WARM_S = 1.5
"""The start is measured as first paint, not as lateness."""


class MeteredApp(hangtop.tui.app.HangtopApp):
    report: Path

    def on_mount(self) -> None:  # Textual itself calls that of the class above
        self._late_ms: list[float] = []
        self._own_ms: list[float] = []
        self.run_worker(self._wake(), group="lateness")
        self.set_interval(WRITE_S, self._write)

    async def _wake(self) -> None:
        await asyncio.sleep(WARM_S)
        while True:
            due, used = time.perf_counter() + WAKE_S, time.thread_time()
            await asyncio.sleep(WAKE_S)
            late_s = max(0.0, time.perf_counter() - due)
            self._late_ms.append(1e3 * late_s)
            self._own_ms.append(1e3 * min(late_s, time.thread_time() - used))

    def _write(self) -> None:
        log = self.state.log
        said = {
            "late_ms": percentiles(self._late_ms),
            "own_ms": percentiles(self._own_ms),
            "lines": None if log is None else log.lines,
            "bytes": None if log is None else log.bytes,
            "caught_up": log is not None and log.caught_up and log.lines is not None,
        }
        new = self.report.with_suffix(".new")
        new.write_text(json.dumps(said))
        new.rename(self.report)


def percentiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values) or [0.0]
    return {name: ordered[int(part * (len(ordered) - 1))] for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))}


if __name__ == "__main__":
    MeteredApp.report = Path(sys.argv[1])
    hangtop.tui.app.HangtopApp = MeteredApp  # type: ignore[misc]
    command_line(sys.argv[2:], prog_name="hangtop")
