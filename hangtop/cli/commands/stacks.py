"""`hangtop stacks`: all ranks' stacks, folded into classes, the odd ones first."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any, TextIO

import msgspec
from msgspec.structs import replace

from hangtop.common import clock
from hangtop.common.text import some
from hangtop.diagnosis.facts.stack_pauses import StackPauses, pause
from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.diagnosis.members.remote_stacks import same_files
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.headless import processes_of
from hangtop.probe.stacks.stack_source import take_stacks
from hangtop.records.nodes import node_of
from hangtop.records.stack import Excerpt, Stack, StacksReading, Thread
from hangtop.render.spans import plain
from hangtop.render.stack_choice import StackChoice
from hangtop.render.stack_rows import StackView, rows, summary
from hangtop.stacks.activity import activity_of
from hangtop.stacks.native_calls import take_in
from hangtop.stacks.stack_classes import StackClass, classes, each_thread, excerpt_of, motion, number
from hangtop.state.run_state import RunState
from hangtop.translations import say

SCHEMA = 1


class StackOptions(StackChoice, frozen=True):
    """Which stacks to show, and how. `native`: frames of C code too, for which processes are stopped. `again_s`: take a second
    look that many seconds later, and say what moved."""

    native: bool = False
    with_locals: bool = False
    again_s: float | None = None
    all_threads: bool = False


def run(
    pids_by_rank: Mapping[int, int],
    others: Iterable[int] = (),
    *,
    wanted: StackOptions | None = None,
    pausing: StackPauses | None = None,
    as_json: bool = False,
    echo: Callable[[str], None] = print,
    far: tuple[Stack, ...] = (),
    nodes: Mapping[int, str] | None = None,
) -> int:
    """Dump and print. `others` are processes of the run that are no ranks; `pausing`: which are stopped for a moment; `far`
    stacks of other nodes, `nodes` their names. Exit codes: 0 some stack was read, 4 none."""
    wanted, stop = wanted or StackOptions(), {} if pausing is None else pausing.stop
    pids = (*pids_by_rank.values(), *others)
    looks = _look((), pids, wanted, stop)
    if wanted.again_s is not None and not looks[-1].problem:
        time.sleep(wanted.again_s)
        looks = _look(looks, pids, wanted, stop)
    stacks = wanted.of(same_files((*number(looks[-1].stacks, pids_by_rank), *far)))
    view = StackView(looks, each_thread(stacks) if wanted.all_threads else stacks, nodes=nodes or {})
    echo(_json(view) if as_json else as_text(view, max(60, shutil.get_terminal_size((120, 40)).columns)))
    return 0 if any(stack.threads for stack in stacks) else 4


def of_run(feed: Feed, *, wanted: StackOptions, as_json: bool, out: TextIO, notices: TextIO) -> int:
    """The stacks of the run that the feed sees. What stops a process is said on `notices` before it is done. Exit code 4 with one
    line when no process of it is known here."""
    state = asyncio.run(processes_of(feed))
    far = (*(state.far_stacks.stacks if state.far_stacks is not None else ()), *_of_nodes(state))
    processes = () if state.procs is None else tuple(each for each in state.procs.processes if not node_of(each.pid))
    here = {process.pid for process in processes}
    ranks = {rank.rank: rank.process.pid for rank in join_ranks(state) if rank.process is not None and rank.process.pid in here}
    others = tuple(process.pid for process in processes if process.pid not in ranks.values() and process.role != "launcher")
    if not ranks and not others and not far:
        unknown = "no process of this run is known on this machine: give --pid, or run hangtop where it runs"
        out.write(f"hangtop stacks: {say(unknown)}\n")
        return 4
    pausing = pause(state.procs, (*ranks.values(), *others)) if wanted.native else None
    if pausing is not None:
        notices.write("".join(f"--native {line}\n" for line in (pausing.said, *pausing.spared)))
        notices.flush()
    elif wanted.with_locals:
        notices.write(f"--locals reads the memory of {some(len(ranks) + len(others), 'process')} and stops none\n")
        notices.flush()
    return run(
        ranks,
        others,
        wanted=wanted,
        pausing=pausing,
        as_json=as_json,
        echo=lambda text: print(text, file=out),
        far=far,
        nodes=state.node_names,
    )


def _of_nodes(state: RunState) -> tuple[Stack, ...]:
    """The stacks of the nodes that were named, with their ranks; those of launchers are left out, as here."""
    ranks = {rank.rank: rank.pid for rank in join_ranks(state) if rank.pid is not None}
    known = state.procs.processes if state.procs is not None else ()
    launchers = {process.pid for process in known if process.role == "launcher"}
    there = (stack for look in state.looks for stack in look.stacks if node_of(stack.pid) and stack.pid not in launchers)
    return number(there, ranks)


def _look(
    looks: tuple[StacksReading, ...], pids: Iterable[int], wanted: StackOptions, stop: Mapping[int, int]
) -> tuple[StacksReading, ...]:
    return reduce(take_in, take_stacks(pids, clock.now(), stop, with_locals=wanted.with_locals), looks)


def as_text(view: StackView, width: int) -> str:
    """The stacks in lines of `width` cells, folded, odd ones first."""
    lines = [plain(row) for row in rows(view, width)]
    return "\n".join(lines if view.look.problem else [summary(view), "", *lines])


def _json(view: StackView) -> str:
    look = view.look
    ranked = [stack for stack in view.stacks if stack.rank is not None]
    others = [stack for stack in view.stacks if stack.rank is None]
    answer = {
        "schema": SCHEMA,
        "at": look.started_at,
        "took_s": look.took_s,
        "stopped": any(stack.stopped for stack in view.stacks),
        "problem": look.problem,
        "mend": look.mend,
        "classes": [_class(stack_class, view) for stack_class in classes(ranked)],
        "others": [_class(stack_class, view) for stack_class in classes(others)],
        "unread": [
            _fields(stack, "rank", "pid", "state", "problem", "mend", "signal_dump") for stack in view.stacks if stack.problem
        ],
    }
    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode()


def _class(stack_class: StackClass, view: StackView) -> dict[str, Any]:
    first, known = stack_class.members[0], stack_class.activity
    before = view.before.get(first.pid)
    return {
        "ranks": stack_class.ranks,
        "pids": stack_class.pids,
        "doing": _fields(known, "kind", "text", "function", "phase") | _fields(known.own, "file", "line"),
        "motion": motion(before, first) if before else None,
        "thread": _fields(known.thread, "name", "state", "wait", "wchan"),
        "other_threads": [_thread_line(first, thread) for thread in first.threads if thread is not known.thread],
        "frames": [_frame(stack_class, place, view.look.excerpts) for place in range(len(stack_class.frames))],
    }


def _fields(record: object, *names: str) -> dict[str, Any]:
    """These fields of a record, under their own names."""
    return {name: getattr(record, name) for name in names}


def _thread_line(stack: Stack, thread: Thread) -> dict[str, Any]:
    known = activity_of(replace(stack, threads=(thread,)))
    return {"name": thread.name, "doing": known.text if known else None, "where": known.where if known else None}


def _frame(stack_class: StackClass, place: int, excerpts: Iterable[Excerpt]) -> dict[str, Any]:
    frame = stack_class.frames[place]
    excerpt = excerpt_of(frame, excerpts)
    return {
        "function": frame.function,
        "file": frame.file,
        "line": frame.line,
        "own": place in stack_class.own,
        "parts": place == stack_class.parts_at,
        "source": excerpt.lines[frame.line - excerpt.first].strip() if excerpt else None,
        "locals": dict(frame.locals),
    }
