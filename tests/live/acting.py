"""Real processes to act upon, and the app over them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from hangtop.records.ask import Ask
from hangtop.records.process import Process, ProcessReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import DEFAULT_SOURCES
from hangtop.system.processes.open_table import open_table
from hangtop.tui.app import HangtopApp
from hangtop.tui.dialogs.action_dialog import ActionScreen
from tests.app.play import Clock, MemoryFeed, seen, session, settle, until
from tests.fakes.processes import PATIENCE_S

WILLING = "import time; print(flush=True); time.sleep(600)"
FIRST_WORDS = 20
"""Characters of a step that stand on one line of the dialog."""


@contextmanager
def running(count: int = 1) -> Iterator[list[Process]]:
    """Real processes, as the process source would tell of them."""
    children = [
        subprocess.Popen([sys.executable, "-c", WILLING], stdout=subprocess.PIPE, start_new_session=True) for _ in range(count)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            child.stdout.readline()
        yield [described(child.pid, rank) for rank, child in enumerate(children)]
    finally:
        for child in children:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
            child.wait(PATIENCE_S)
            assert child.stdout is not None
            child.stdout.close()


def described(pid: int, rank: int) -> Process:
    table = open_table()
    table.refresh((pid,))
    stat = table.stats[pid]
    command = " ".join(table.command(pid))
    started_at = table.started_at(stat.start_ticks)
    return Process(
        pid, started_at, stat.start_ticks, os.getpid(), "python", command, "S", "rank", rank, uid=os.geteuid(), user="alice"
    )


class DeafFeed(MemoryFeed):
    """Takes questions down and answers none."""

    def ask(self, ask: Ask) -> None:
        self.questions = [*getattr(self, "questions", []), ask]


def app_over(processes: list[Process], name: str = "stalled", **options: object) -> HangtopApp:
    spec, readings, at = session(name)
    spec = replace(spec, sources=DEFAULT_SOURCES)
    host = os.uname().nodename
    feed = DeafFeed([*readings, Reading("procs", host, at, ProcessReading(processes=tuple(processes)))])
    return HangtopApp(spec, feed, now=Clock(at), **options)  # type: ignore[arg-type]


async def begun(pilot, app: HangtopApp) -> ActionScreen:
    """The action screen of a stop, once its first step is under way."""
    await settle(pilot, app)
    await pilot.press("k", "right", "enter")
    screen = app.screen
    assert isinstance(screen, ActionScreen)
    await until(pilot, lambda: screen.steps, "its first step")
    return screen


async def over(pilot, app: HangtopApp) -> ActionScreen:
    """The action screen, once all is done and a person can see it."""
    screen = app.screen
    assert isinstance(screen, ActionScreen)
    await until(pilot, lambda: screen.phase == "over", "the end of the action")
    await seen(pilot, app, screen.steps[-1].text[:FIRST_WORDS])
    return screen


def alive(process: Process) -> bool:
    table = open_table()
    table.refresh((process.pid,))
    stat = table.stats.get(process.pid)
    return stat is not None and stat.state not in "ZX"


@contextmanager
def family() -> Iterator[list[Process]]:
    """A launcher, its rank 1 and what that started, as the process source would tell of them."""
    with running(3) as (top, rank, worker):
        yield [
            replace(top, rank=None, role="launcher"),
            replace(rank, ppid=top.pid),
            replace(worker, ppid=rank.pid, rank=None, role="data worker"),
        ]
