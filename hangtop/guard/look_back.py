"""What can be seen of a restart that a guard which was killed has left half done: its processes, its records, its log."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import msgspec

from hangtop.actions.execute.client import EXECUTOR
from hangtop.actions.execute.steps import tells_of
from hangtop.actions.plans.run_plan import run_plan
from hangtop.actions.prove.premise import writers
from hangtop.common.raw_text import to_os
from hangtop.guard.episodes import Course
from hangtop.guard.left_half import Facts
from hangtop.guard.own_run import lives
from hangtop.records.plan import Plan, Start
from hangtop.system.guard import Guard
from hangtop.system.processes.open_table import open_table
from hangtop.system.processes.roles import RUNNER
from hangtop.system.processes.table import Identity, ProcessTable, cwd_of
from hangtop.system.stores import launch_store
from hangtop.system.stores.stop_store import StopStore

APART_S = 10.0
"""Clocks of two processes differ by less, and two stops of one run lie further apart."""
MOST_BYTES = 16 << 20
"""Of a plan."""


def look_back(course: Course) -> Facts:
    """What is seen now. Blocks. A file that cannot be looked into makes it less sure, never surer."""
    table, plan = open_table(), run_plan(course.words, course.folder, course.log)
    table.refresh(())
    assert plan.start is not None
    commands = _commands(table)
    launch = launch_store.latest(os.path.realpath(course.log))
    is_newer = launch is not None and (launch.pid, launch.start_ticks) != course.known
    others = {each.pid for each in (*writers(plan.start, table), *_since(course, plan.start, commands, table))}
    if launch is not None and lives(launch):  # its runner is none of the writers
        others.add(launch.pid)
    return Facts(
        busy=any(_is_at_work(each.pid, words, course, table) for each, words in commands.items()),
        stopped=_is_stopped(course),
        newer=launch.pid if launch is not None and is_newer else None,
        newer_lives=launch is not None and lives(launch),
        others=tuple(sorted(others)),
        told=tells_of(plan.title, course.logged_bytes),
    )


def _commands(table: ProcessTable) -> dict[Identity, tuple[str, ...]]:
    living = [each for each in table.stats.values() if not each.kernel and each.state not in "ZX" and each.pid != os.getpid()]
    return Guard[Identity, tuple[str, ...]]().known({each.identity: partial(table.command, each.pid) for each in living})


def _is_at_work(pid: int, words: tuple[str, ...], course: Course, table: ProcessTable) -> bool:
    """Whether it is a process of hangtop that stops or starts the run of this log."""
    try:
        if EXECUTOR in words:
            plan = msgspec.json.decode(_told(pid), type=Plan)
            return any(_is_same(log, course.log) for log in _logs_of(plan))
        if RUNNER in words:
            return _is_same(msgspec.json.decode(_told(pid), type=Start).log, course.log)
    except msgspec.DecodeError:  # it has ended; or it is a runner whose start is kept
        return False
    except PermissionError:
        return True
    if words[1:4] != ("-m", "hangtop", "stop") or "--yes" not in words:
        return False
    folder = cwd_of(table, pid) or course.folder
    logs = [log for option, log in pairwise(words) if option == "--log"]
    return any(_is_same(os.path.join(to_os(folder), to_os(log)), course.log) for log in logs)


def _told(pid: int) -> bytes:
    """What this process was told on its stdin; empty where it is gone, or has closed it: a runner does once its start is kept.
    Raises `PermissionError` where that cannot be known."""
    try:
        fd = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError) as error:
        if not os.path.exists("/proc/self/fd"):
            raise PermissionError(error.errno, "no /proc") from error
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read(MOST_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""


def _logs_of(plan: Plan) -> Iterator[str]:
    if plan.stops is not None:
        yield from plan.stops.logs
    if plan.start is not None:
        yield plan.start.log


def _is_same(log: str, other: str) -> bool:
    return os.path.realpath(to_os(log)) == os.path.realpath(to_os(other))


def _is_stopped(course: Course) -> bool:
    """Whether the stop that began with this part has ended, and the whole run was gone."""
    stop = StopStore().latest((course.log,))
    return stop is not None and stop.by_guard and stop.ended_at is not None and stop.began_at > course.at - APART_S


def _since(course: Course, start: Start, commands: dict[Identity, tuple[str, ...]], table: ProcessTable) -> Iterator[Identity]:
    """Processes of the command that were started since; a script is shown behind its interpreter."""
    for each, words in commands.items():
        if words[-len(start.argv) :] == start.argv and table.started_at(each.start_ticks) > course.at - APART_S:
            yield each
