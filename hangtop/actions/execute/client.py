"""Start the executor of a plan and follow its steps. Nothing here blocks; what was begun goes on without us."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from hangtop.actions.execute.action_log import path as journal_path
from hangtop.actions.execute.child import begin
from hangtop.common import clock
from hangtop.feeds.probe_feed import line_reader
from hangtop.records.plan import OwnProcess, Plan, Step

REAP_TRIES, REAP_PAUSE_S = 200, 0.01

_step = msgspec.json.Decoder(Step)


class RunningPlan:
    """A plan that is being carried out: its steps as they happen, to be iterated once.

    The executor has its own session: neither a closed terminal nor our end stops it halfway.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._executor: subprocess.Popen[bytes] | None = None
        self._broken_off = False

    def break_off(self) -> None:
        """Ask it to begin no further step, and to say what was done and what was not."""
        self._broken_off = True
        if self._executor is not None:
            self._executor.send_signal(signal.SIGTERM)

    async def __aiter__(self) -> AsyncIterator[Step]:
        try:
            self._executor, output = begin("hangtop.actions.execute.executor", self._plan)
        except OSError as error:  # no more processes or files for this user
            yield Step(clock.now(), "failed", f"nothing was done: {error.strerror or error}")
            return
        failed = False
        lines, transport = await line_reader(output)
        try:
            async for line in lines:
                step = _step.decode(line)
                failed = failed or step.kind == "failed"
                yield step
        finally:
            transport.close()
        code = await _ended(self._executor)
        if code == -signal.SIGTERM and self._broken_off:  # it listens before it does anything, so it had not begun
            yield Step(clock.now(), "failed", "broken off before the first step: nothing was done")
        elif code != 0 and not failed:
            said = f"the executor broke off (exit code {code}); what it had done is in {journal_path()}"
            yield Step(clock.now(), "failed", said)


def carry_out(plan: Plan) -> RunningPlan:
    """Carry out the plan, once its steps are asked for."""
    return RunningPlan(plan)


async def _ended(process: subprocess.Popen[bytes]) -> int | None:
    """Its exit code, awaited for a moment after its output has ended."""
    for _ in range(REAP_TRIES):
        if process.poll() is not None:
            break
        await asyncio.sleep(REAP_PAUSE_S)
    return process.returncode


def own_process() -> OwnProcess:
    """This process, its ancestors, its user and its machine."""
    import psutil

    above = frozenset(parent.pid for parent in psutil.Process().parents())
    return OwnProcess(os.getpid(), above, os.geteuid(), socket.gethostname())


def evidence_path(now: float) -> str:
    """Prefix of the paths of evidence: in the folder where hangtop was started, with the time."""
    return str(Path.cwd() / f"hangtop-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}")
