"""Runs that hangtop itself has started, ended with the test that had them started."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from hangtop.records.launch import Launch
from hangtop.system.processes.linux import read_stat
from hangtop.system.stores import launch_store
from tests.fakes.processes import eventually


def lives(known: Launch) -> bool:
    """Whether that very process is there."""
    stat = read_stat(known.pid)
    return stat is not None and stat.start_ticks == known.start_ticks and stat.state not in "ZX"


def end_run(known: Launch) -> None:
    """Kill the session of a run that a runner keeps, and wait until the runner has taken down its end."""
    if lives(known):
        with suppress(ProcessLookupError):
            os.killpg(known.pid, signal.SIGKILL)
    eventually(
        lambda: (now := launch_store.of_process(known.pid, known.start_ticks)) and now.exit_code is not None, "the end of the run"
    )
