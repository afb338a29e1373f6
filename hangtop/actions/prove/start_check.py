"""Ask `hangtop.actions.prove.preflight`, a process of its own, whether the start of a plan would succeed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess

import msgspec

from hangtop.actions.execute.child import begin
from hangtop.common.reaper import reap_later
from hangtop.feeds.probe_feed import line_reader
from hangtop.records.plan import Fit, FitAsk

MODULE = "hangtop.actions.prove.preflight"
ANSWER_S = 45.0


async def check_start(ask: FitAsk) -> Fit:
    """The answer; that there is none is a problem. A check that is cancelled leaves no child behind."""
    try:
        child, output = begin(MODULE, ask)
    except OSError as error:
        return Fit((f"whether it can start is not known: {error.strerror or error}",))
    line, why = b"", "the look at it broke off"
    try:
        with output:
            lines, transport = await line_reader(output)
            try:
                line = await asyncio.wait_for(lines.readline(), ANSWER_S)
            except TimeoutError:
                why = f"no answer within {ANSWER_S:.0f} s: a disk that it needs may be dead"
            finally:
                transport.close()
    finally:
        _end(child)
    try:
        return msgspec.json.decode(line, type=Fit)
    except msgspec.DecodeError:
        return Fit((f"whether it can start is not known: {why}",))


def wait_for_start_check(ask: FitAsk) -> Fit:
    """The same where waiting is no harm: not for the screen."""
    return asyncio.run(check_start(ask))


def _end(child: subprocess.Popen[bytes]) -> None:
    """It may be stuck in the kernel: nobody waits for it."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
    reap_later(child)
