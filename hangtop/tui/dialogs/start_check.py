"""Whether the start of a plan would succeed, asked from the screen: a child looks, and nothing here waits for it."""

from __future__ import annotations

import asyncio

from hangtop.actions.execute.child import begin
from hangtop.actions.prove.preflight import ANSWER_S, MODULE, decoded, not_begun
from hangtop.feeds.probe_feed import line_reader
from hangtop.records.fit import Fit, FitAsk


async def fitting(ask: FitAsk) -> Fit:
    """The answer. A look that is cancelled leaves no child behind."""
    try:
        child, output = begin(MODULE, ask)
    except OSError as error:
        return not_begun(error)
    line, late = b"", False
    try:
        with output:
            lines, transport = await line_reader(output)
            try:
                line = await asyncio.wait_for(lines.readline(), ANSWER_S)
            except TimeoutError:
                late = True
            finally:
                transport.close()
    finally:
        found = decoded(line, child, late=late)
    return found
