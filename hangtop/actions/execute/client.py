"""The processes of an action, as those see them that start them: a check before a start, the executor of a plan, a command that
tells causes apart.

Each is a module of hangtop in a session of its own: told one record on stdin, it answers in JSON lines on stdout.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

import msgspec

from hangtop.actions.execute.steps import log_path
from hangtop.common import clock
from hangtop.common.reaper import reap_later
from hangtop.feeds.probe_feed import line_reader
from hangtop.records.advice import TellAsk, Told
from hangtop.records.plan import Fit, FitAsk, OwnProcess, Plan, Step
from hangtop.system.hangtop_child import start_hangtop
from hangtop.system.memory import unnamed_memory

EXECUTOR, PREFLIGHT = "hangtop.actions.execute.executor", "hangtop.actions.prove.preflight"
TELL = "hangtop.actions.execute.tell"
ANSWER_S = 45.0
TELL_S = 15.0
"""More than the limit within which that process answers, unless it is stuck itself."""
REAP_S = 2.0
"""An executor whose output has ended ends within this time."""

_begun: list[subprocess.Popen[bytes]] = []
"""Children that still work: kept, for Python warns of a forgotten child, and asyncio would kill one whose transport is closed."""


def begin(module: str, told: msgspec.Struct) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """`python -m MODULE`, and its stdout. The record goes through memory without a name: a pipe could fill up and hold us, and a
    temporary folder may be full. Raises `OSError`."""
    with os.fdopen(unnamed_memory(0), "w+b") as record:
        record.write(msgspec.json.encode(told))
        record.seek(0)
        child = start_hangtop(module, stdin=record, stdout=subprocess.PIPE)
    assert child.stdout is not None
    _begun[:] = [other for other in _begun if other.poll() is None]
    _begun.append(child)
    return child, child.stdout


async def check_start(ask: FitAsk) -> Fit:
    """Whether the start of a plan would succeed; no answer is a problem. A check that is cancelled leaves no child behind."""
    unknown = "whether it can start is not known"
    try:
        return msgspec.json.decode(await _answer(PREFLIGHT, ask, ANSWER_S), type=Fit)
    except TimeoutError:
        return Fit((f"{unknown}: no answer within {ANSWER_S:.0f} s: a disk that it needs may be dead",))
    except OSError as error:
        return Fit((f"{unknown}: {error.strerror or error}",))
    except msgspec.DecodeError:
        return Fit((f"{unknown}: the look at it broke off",))


async def tell(ask: TellAsk) -> Told:
    """What a command that tells causes apart prints. One that is cancelled leaves no child behind."""
    try:
        return msgspec.json.decode(await _answer(TELL, ask, TELL_S), type=Told)
    except TimeoutError:
        return Told(problem=f"no answer within {TELL_S:.0f} s: a disk or a driver that it asks may be dead")
    except OSError as error:
        return Told(problem=f"not run: {error.strerror or error}")
    except msgspec.DecodeError:
        return Told(problem="it broke off")


async def _answer(module: str, told: msgspec.Struct, within_s: float) -> bytes:
    """The first line that this module prints. Its group is ended then, also when this is cancelled. Raises `TimeoutError`, and
    `OSError` when it cannot be started."""
    child, output = begin(module, told)
    try:
        with output:
            lines, transport = await line_reader(output)
            try:
                async with asyncio.timeout(within_s):
                    return await lines.readline()
            finally:
                transport.close()
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        reap_later(child)  # it may be stuck in the kernel: nobody waits for it


def wait_for_start_check(ask: FitAsk) -> Fit:
    """The same where waiting is no harm: not for the screen."""
    return asyncio.run(check_start(ask))


class RunningPlan:
    """A plan that is being carried out: its steps as they happen, to be iterated once. Our end does not stop it halfway."""

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
            self._executor, output = begin(EXECUTOR, self._plan)
        except OSError as error:  # no more processes or files for this user
            yield Step(clock.now(), "failed", f"nothing was done: {error.strerror or error}")
            return
        failed = False
        lines, transport = await line_reader(output)
        try:
            async for line in lines:
                step = msgspec.json.decode(line, type=Step)
                failed = failed or step.kind == "failed"
                yield step
        finally:
            transport.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._executor.wait, REAP_S)
        code = self._executor.returncode
        if code == -signal.SIGTERM and self._broken_off:  # it listens before it does anything, so it had not begun
            yield Step(clock.now(), "failed", "broken off before the first step: nothing was done")
        elif code != 0 and not failed:
            said = f"the executor broke off (exit code {code}); what it had done is in {log_path()}"
            yield Step(clock.now(), "failed", said)


def own_process() -> OwnProcess:
    """This process, its ancestors, its user and its machine."""
    import psutil

    above = frozenset(parent.pid for parent in psutil.Process().parents())
    return OwnProcess(os.getpid(), above, os.geteuid(), socket.gethostname())


def evidence_path(now: float) -> str:
    """Prefix of the paths of evidence: in the folder where hangtop was started, with the time."""
    return str(Path.cwd() / f"hangtop-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}")
