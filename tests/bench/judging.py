"""How long `hangtop check` takes over a run that hangs already; what commands cost in processor time, their probe's included."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

from hangtop.demo.demo_run import DemoRun
from hangtop.demo.scenario import scenario
from tests.bench.logs import in_child, scratch, write_log
from tests.bench.options import Options
from tests.bench.pty_meter import installed
from tests.bench.row import Row
from tests.scenarios.unseen.watch import become_reaper

RUNS = 3
STALL_S = 8.0
PATIENCE_S = 90.0
SMALL = 100_000
OFTEN = 7


def rows(options: Options) -> Iterator[Row]:
    with scratch() as folder, DemoRun(scenario(None), folder) as run:
        _until_silent(run.log)
        took = [_check_s(run.log) for _ in range(RUNS)]
    said = {word for word, _ in took}
    yield Row(f"check on a run that hangs (it says {', '.join(sorted(said))})", median(s for _, s in took), "s", 6)
    yield from _processor_time()


def _processor_time() -> Iterator[Row]:
    """The least of some runs: what else the machine does only adds to it."""
    with scratch() as folder:
        log = write_log(folder / "train.log", SMALL)
        with log.open("a") as written:  # by this process, which lives
            check = _least_s("check", "--log", str(log), touched=written.fileno())
            chinese = _least_s("check", "--log", str(log), touched=written.fileno(), LANG="zh_CN.UTF-8")
    yield Row("check on a log of 0.1 MB: processor time, with its probe", check, "s", 0.35)
    yield Row("the same, told in Chinese", chinese, "s")
    yield Row("`hangtop --version`: processor time", _least_s("--version"), "s", 0.1)
    yield Row("`hangtop explain TEXT`: processor time", _least_s("explain", "CUDA out of memory"), "s", 0.1)


def _least_s(*words: str, touched: int | None = None, **env: str) -> float:
    """`touched`: the log, as if it was written just now."""
    took: list[float] = []
    for _ in range(OFTEN):
        if touched is not None:
            os.utime(touched)
        took.append(in_child(_processor_s, words, {**installed(), **env}))
    return min(took)


def _processor_s(words: tuple[str, ...], env: dict[str, str]) -> float:
    """CPU seconds of a command and of all that it started, also of a probe that it left to end by itself. In a fresh process,
    which becomes the parent of whatever loses its own."""
    become_reaper()
    subprocess.run([sys.executable, "-m", "hangtop", *words], stdout=subprocess.DEVNULL, env=env, check=False)
    with suppress(ChildProcessError):
        while True:
            os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
