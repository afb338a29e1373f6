"""The plan of a command waits for what it needs, whatever comes first."""

from __future__ import annotations

import asyncio
import io
import os
import socket
from collections.abc import AsyncIterator

from hangtop.actions.registry import Choices, action
from hangtop.cli.commands.action import run
from hangtop.records.ask import Ask
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.process import Process, ProcessReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec

PID = 2**22 + 7
"""No process of Linux has it: a plan that is only shown signals nobody."""
RANK = Process(
    pid=PID,
    started_at=1.0,
    start_ticks=1,
    ppid=1,
    name="python",
    state="S",
    uid=os.getuid(),
    command="python train.py",
    role="rank",
    rank=0,
)
HELD = Gpu(0, read_at=1.0, used_bytes=60 * 2**30, processes=(GpuProcess(PID, used_bytes=59 * 2**30),))


class Slow:
    """A feed whose processes come at once, its first beat a moment later, and its GPUs last."""

    async def readings(self) -> AsyncIterator[Reading]:
        for value in (
            ProcessReading(processes=(RANK,)),
            Heartbeat((SourceHealth("gpu", busy_s=0.2),)),
            GpuReading(gpus=(HELD,)),
            Heartbeat((SourceHealth("gpu", read_at=1.0),)),
        ):
            yield Reading("procs", socket.gethostname(), 1.0, value)
            await asyncio.sleep(0.4)
        await asyncio.sleep(60.0)

    def ask(self, ask: Ask) -> None: ...

    def close(self) -> None: ...


def test_what_the_gpus_hold_stands_in_the_plan_though_the_processes_are_known_first() -> None:
    shown = io.StringIO()
    code = run(action("stop"), WatchSpec(pids=(PID,)), Choices(), yes=False, out=shown, feed_of=lambda _: Slow())
    assert code == 0, shown.getvalue()
    assert "reads the process table and GPU memory again" in shown.getvalue()
