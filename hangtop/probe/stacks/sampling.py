"""py-spy at work for a while: what processes are in, many times a second, none of them stopped."""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from hangtop.probe.stacks import pyspy

GRACE_S = 5.0
"""py-spy ends so long after its time at the latest; then it is ended."""


class Sampled(Struct, frozen=True):
    """`texts`: folded stacks by pid. `problems`: why there are none. `cpu_s`: CPU time of all py-spy together."""

    texts: dict[int, str]
    problems: dict[int, str]
    cpu_s: float


def command(tool: str, pid: int, seconds: float, rate_hz: int, output: Path) -> tuple[str, ...]:
    """What is run for one process: threads that wait are seen too."""
    how = ("--nonblocking", "--idle", "--threads", "--format", "raw")
    return (
        tool,
        "record",
        "--pid",
        str(pid),
        "--duration",
        f"{max(1, round(seconds))}",
        "--rate",
        str(rate_hz),
        *how,
        "-o",
        str(output),
    )


def sample(pids: Mapping[int, str], tool: str, seconds: float, rate_hz: int) -> Sampled:
    """Sample all these processes at the same time, for so many seconds. `pids`: with their names, for problems. Raises `OSError`
    when py-spy cannot be run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    texts: dict[int, str] = {}
    problems: dict[int, str] = {}
    with tempfile.TemporaryDirectory(prefix="hangtop-profile-") as folder:
        running: dict[int, subprocess.Popen[bytes]] = {}
        try:
            for pid in pids:
                argv = command(tool, pid, seconds, rate_hz, Path(folder, str(pid)))
                running[pid] = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            until = time.monotonic() + seconds + GRACE_S
            for pid, process in running.items():
                try:
                    _, said = process.communicate(timeout=max(0.1, until - time.monotonic()))
                    texts[pid] = Path(folder, str(pid)).read_text(errors="replace")
                except subprocess.TimeoutExpired:
                    problems[pid] = f"no answer within {seconds + GRACE_S:g} s"
                except FileNotFoundError:
                    problems[pid] = pyspy.first_words(said)
        finally:
            for process in running.values():
                if process.poll() is None:
                    process.kill()
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(0.2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Sampled(texts, problems, cpu_s)
