"""Whether the start of a plan would succeed, asked from the screen: a child looks, and nothing here waits for it."""

from __future__ import annotations

import asyncio
import contextlib

from hangtop.actions.child import begin
from hangtop.actions.preflight import ANSWER_S, MODULE, decoded
from hangtop.feeds import line_reader
from hangtop.records.fit import Fit, FitAsk


async def fitting(ask: FitAsk) -> Fit:
    """The answer. Who is cancelled leaves no child behind."""
    child, output = begin(MODULE, ask)
    line = b""
    lines, transport = await line_reader(output)
    try:
        with contextlib.suppress(TimeoutError):
            line = await asyncio.wait_for(lines.readline(), ANSWER_S)
    finally:
        transport.close()
        found = decoded(line, child)
    return found
