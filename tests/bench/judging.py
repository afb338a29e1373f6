"""How long `hangtop check` takes over a run that hangs already, and over one that is well."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from hangtop.demo.demo_run import DemoRun
from hangtop.demo.scenario import scenario
from tests.bench.logs import scratch
from tests.bench.options import Options
from tests.bench.pty_meter import installed
from tests.bench.row import Row

RUNS = 3
STALL_S = 8.0
PATIENCE_S = 90.0


def rows(options: Options) -> Iterator[Row]:
    with scratch() as folder, DemoRun(scenario(None), folder) as run:
        _until_silent(run.log)
        took = [_check_s(run.log) for _ in range(RUNS)]
    said = {word for word, _ in took}
    yield Row(f"check on a run that hangs (it says {', '.join(sorted(said))})", median(s for _, s in took), "s", 6)


def _until_silent(log: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = log.stat()
        if found.st_size and time.time() - found.st_mtime > STALL_S + 0.5:
            return
        time.sleep(0.2)
    raise TimeoutError(f"{log} never fell silent")


def _check_s(log: Path) -> tuple[str, float]:
    command = [sys.executable, "-m", "hangtop", "check", "--log", str(log), "--stall", str(STALL_S)]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=installed(), check=False)
    return (done.stdout.split() or ["nothing"])[0].lower(), time.monotonic() - began
