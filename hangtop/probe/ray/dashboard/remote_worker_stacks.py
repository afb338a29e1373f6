"""Stacks of workers on other nodes: from the dashboard, which runs py-spy there if that is permitted, or by a short task on each
node when a person presses the key for it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hangtop.common.clean_text import clean_text
from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.http import Answer, Dashboard
from hangtop.probe.ray.dashboard.pyspy_report import threads_of
from hangtop.probe.ray.dashboard.ray_python import RayPython, end, last_words
from hangtop.probe.ray.dashboard.worker_access import ClusterAccess
from hangtop.probe.stacks import pyspy
from hangtop.records.ask import RemoteStacksAsk, RemoteWorker
from hangtop.records.ray_workers import RemoteStacksReading
from hangtop.records.stack import Stack, Thread

AT_ONCE = 8
TRACEBACK_S = 8.0
"""One `py-spy dump` takes 30 ms there, and the dashboard runs few at once."""
WHOLE_S = 30.0
TASK_S = 60.0
"""Each node must start a worker first, which takes seconds; a sick cluster never does."""
PROGRAM = "hangtop_stacks.py"
OFF = "the dashboard does not permit profiling, so it gives no stacks of workers on other nodes"
OFF_MEND = "for the next run: RAY_DASHBOARD_ENABLE_PROFILING=1 ray start --head …"
NO_PYTHON = "no raylet of this cluster runs on this machine, so no task can be sent: run hangtop on one of its nodes"
NO_PYSPY = "py-spy is not installed in the Python that Ray uses there"
GIVE_BACK = 400


def remote_worker_stacks(ask: RemoteStacksAsk, access: ClusterAccess | None, now: float) -> Iterator[RemoteStacksReading]:
    """The parts of one answer: stacks, or the reason why there are none."""
    began = time.monotonic()

    def at() -> float:
        return now + time.monotonic() - began

    yield RemoteStacksReading(ask.ask, now, len(ask.workers), task=ask.task)
    if access is None:
        parts = iter([_refused(ask.workers, "its cluster is not known here", "hangtop --ray HOST:8265", at())])
    else:
        parts = _by_task(ask, access, at) if ask.task else _by_dashboard(ask, access, at)
    for stacks in parts:
        yield RemoteStacksReading(ask.ask, at(), len(ask.workers), stacks, ask.task)
    yield RemoteStacksReading(ask.ask, at(), len(ask.workers), task=ask.task, done=True)


def _refused(workers: Iterable[RemoteWorker], problem: str, mend: str | None, at: float) -> tuple[Stack, ...]:
    """One reason for all of these workers."""
    return tuple(_stack(worker, at, problem=problem, mend=mend) for worker in workers)


def _stack(
    worker: RemoteWorker, at: float, threads: tuple[Thread, ...] = (), problem: str | None = None, mend: str | None = None
) -> Stack:
    return Stack(worker.pid, at, threads, rank=worker.rank, host=worker.host, problem=problem, mend=mend)


def _by_dashboard(ask: RemoteStacksAsk, access: ClusterAccess, at: Callable[[], float]) -> Iterator[tuple[Stack, ...]]:
    if access.dashboard is None:
        yield _refused(ask.workers, "this cluster has no dashboard, which could ask py-spy there", None, at())
        return
    dashboard = Dashboard(access.dashboard, access.find_token, TRACEBACK_S, owner=access.owner)
    until = time.monotonic() + WHOLE_S
    try:
        if _forbids(dashboard.get("/api/profiling_enabled")):
            yield _refused(ask.workers, OFF, OFF_MEND, at())
            return
        left = list(ask.workers)
        while left and time.monotonic() < until:
            workers, left = left[:AT_ONCE], left[AT_ONCE:]
            answers = dashboard.get_all(
                [f"/worker/traceback?pid={worker.pid}&node_id={worker.node}&native=0" for worker in workers]
            )
            yield tuple(_told(worker, answer, at()) for worker, answer in zip(workers, answers, strict=True))
        if left:
            yield _refused(left, f"the dashboard did not come to it within {WHOLE_S:g} s", None, at())
    finally:
        dashboard.close()


def _forbids(answer: Answer) -> bool:
    """Ray before 2.60 has no such path, and permits."""
    try:
        return answer.ok and not api_schema.data_of(answer.body, api_schema.Profiling).profiling_enabled
    except msgspec.DecodeError:
        return False


def _told(worker: RemoteWorker, answer: Answer, at: float) -> Stack:
    said = answer.body.decode("utf-8", "replace")
    if answer.status == 403:
        return _stack(worker, at, problem=OFF, mend=OFF_MEND)
    if not answer.ok:
        first = clean_text(next((line for line in said.splitlines() if line.strip()), answer.in_words))[:GIVE_BACK]
        return _stack(worker, at, problem=NO_PYSPY if "py-spy is not installed" in said else first)
    threads = threads_of(said)
    return _stack(worker, at, threads) if threads else _stack(worker, at, problem="the dashboard gave no stack")


def _by_task(ask: RemoteStacksAsk, access: ClusterAccess, at: Callable[[], float]) -> Iterator[tuple[Stack, ...]]:
    """One short task on each node, sent by a child."""
    if access.python is None:
        yield _refused(ask.workers, NO_PYTHON, None, at())
        return
    nodes: dict[str, list[RemoteWorker]] = {}
    for worker in ask.workers:
        nodes.setdefault(worker.node, []).append(worker)
    why = f"the cluster did not run the task within {TASK_S:g} s"
    for node, dumps, error in _run(access.python, {node: [worker.pid for worker in workers] for node, workers in nodes.items()}):
        if not node:
            why = error
            continue
        workers = nodes.pop(node, [])
        yield tuple(_dumped(worker, dumps.get(str(worker.pid)), error, at()) for worker in workers)
    if nodes:
        left = [worker for workers in nodes.values() for worker in workers]
        yield _refused(left, why, None, at())


def _dumped(worker: RemoteWorker, dump: Sequence[Any] | None, error: str, at: float) -> Stack:
    found, said = dump or (None, error or "nothing was told of it")
    if found is None:
        known = NO_PYSPY if said == "no py-spy" else clean_text(pyspy.first_words(str(said).encode()))[:GIVE_BACK]
        return _stack(worker, at, problem=known, mend="pip install py-spy, there" if said == "no py-spy" else None)
    read = pyspy.read(worker.pid, msgspec.json.encode(found))
    threads = tuple(
        Thread(
            clean_text(thread.thread_name or f"thread {thread.os_thread_id}"),
            tuple(pyspy.frame(frame) for frame in thread.frames),
            thread.os_thread_id,
            thread.owns_gil,
            "R" if thread.active else "S",
        )
        for thread in read.threads
    )
    return _stack(worker, at, threads, problem=read.error)


def _run(python: RayPython, wanted: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """(node, dumps, error) as the nodes answer; with an empty node, why the child failed."""
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - a file, a pipe could fill up
    try:
        child = python.start(PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints)
    except OSError as error:
        complaints.close()
        yield "", {}, f"{python.python}: {error.strerror or error}"
        return
    try:
        assert child.stdin is not None
        child.stdin.write(json.dumps(wanted).encode())
        child.stdin.close()
        for line in _lines(child, time.monotonic() + TASK_S):
            if (said := _answer(line)) is not None:
                yield said
        if child.wait(1.0):
            yield "", {}, f"Ray's Python could not join the cluster: {last_words(complaints)}"
    except BrokenPipeError:  # it ended at once
        yield "", {}, f"Ray's Python could not join the cluster: {last_words(complaints)}"
    except subprocess.TimeoutExpired:  # the time is over
        return
    finally:
        complaints.close()
        end(child)
        if child.stdout is not None:
            child.stdout.close()


def _lines(child: subprocess.Popen[bytes], until: float) -> Iterator[bytes]:
    """Its lines, until it ends or the time is over."""
    assert child.stdout is not None
    fd, rest = child.stdout.fileno(), b""
    while (left_s := until - time.monotonic()) > 0:
        if not select.select([fd], [], [], left_s)[0]:
            return
        data = os.read(fd, 1 << 16)
        if not data:
            return
        *whole, rest = (rest + data).split(b"\n")
        yield from whole


def _answer(line: bytes) -> tuple[str, Mapping[str, Any], str] | None:
    """A line of our program; `None` for one that Ray printed."""
    if not line.startswith(b"hangtop "):
        return None
    try:
        said = json.loads(line[len(b"hangtop ") :])
    except ValueError:
        return None
    return str(said.get("node", "")), said.get("dumps") or {}, str(said.get("error", ""))
