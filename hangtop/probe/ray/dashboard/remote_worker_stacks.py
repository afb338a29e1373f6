"""Stacks of workers on other nodes: from the dashboard, which runs py-spy there if that is permitted, or by a short task on each
node when a person presses the key for it."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

import msgspec
from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.common.grouped import grouped
from hangtop.probe.http.answer import Answer
from hangtop.probe.ray.cluster import Cluster
from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.http import Dashboard
from hangtop.probe.ray.dashboard.ray_python import ChildError, RayPython
from hangtop.probe.stacks import pyspy
from hangtop.records.ask import RemoteStacksAsk, RemoteWorker
from hangtop.records.ray.remote_workers import RemoteStacksReading
from hangtop.records.stack import Stack, Thread
from hangtop.stacks.frames import table

AT_ONCE = 8
TRACEBACK_S = 8.0
"""One `py-spy dump` takes 30 ms there, and the dashboard runs few at once."""
WHOLE_S = 30.0
LOOK_S = 0.1
TASK_S = 60.0
"""Each node must start a worker first, which takes seconds; a sick cluster never does."""
PROGRAM = "hangtop_stacks.py"
OFF = "the dashboard does not permit profiling, so it gives no stacks of workers on other nodes"
OFF_MEND = "for the next run: RAY_DASHBOARD_ENABLE_PROFILING=1 ray start --head …"
NO_PYTHON = "no raylet of this cluster runs on this machine, so no task can be sent: run hangtop on one of its nodes"
NO_PYSPY = "py-spy is not installed in the Python that Ray uses there"
LONGEST_PROBLEM = 400
LONGEST_DUMP_BYTES = 1 << 20
"""200 threads of 22 frames each are 120 kB."""
_THREAD = re.compile(r'Thread (?P<id>0x[0-9A-Fa-f]+|\d{1,18})(?: \((?P<how>[^)]*)\))?(?:: "(?P<name>.*)")?$')
_FRAME = re.compile(r"(?P<function>.+) \((?P<file>[^()]*?)(?::(?P<line>\d{1,9}))?\)")


class NodeDumps(msgspec.Struct, frozen=True):
    """What the task on one node printed: by pid what py-spy printed, or null and why not. `error`: why the task gave nothing;
    without a `node`, why no task gave anything."""

    node: str = ""
    dumps: dict[str, tuple[msgspec.Raw, str]] = {}
    error: str = ""


def remote_worker_stacks(ask: RemoteStacksAsk, cluster: Cluster | None, now: float) -> Iterator[RemoteStacksReading]:
    """Parts of one look: each with stacks, or with the reason why there are none."""
    began = time.monotonic()

    def part(stacks: Iterable[Stack] = (), *, done: bool = False) -> RemoteStacksReading:
        at = now + time.monotonic() - began
        dated = tuple(replace(stack, at=at) for stack in stacks)
        return RemoteStacksReading(ask.ask, at, len(ask.workers), dated, ask.task, done)

    yield part()
    if cluster is None:
        parts = iter([_refused(ask.workers, "its cluster is not known here", "hangtop --ray HOST:8265")])
    else:
        parts = _by_task(ask.workers, cluster.python) if ask.task else _by_dashboard(ask.workers, cluster)
    yield from map(part, parts)
    yield part(done=True)


def _refused(workers: Iterable[RemoteWorker], problem: str, mend: str | None = None) -> list[Stack]:
    """One reason for all of these workers."""
    return [_stack(worker, problem=problem, mend=mend) for worker in workers]


def _stack(worker: RemoteWorker, threads: tuple[Thread, ...] = (), problem: str | None = None, mend: str | None = None) -> Stack:
    return Stack(worker.pid, 0.0, threads, rank=worker.rank, host=worker.host, problem=problem, mend=mend)


def _by_dashboard(workers: Sequence[RemoteWorker], cluster: Cluster) -> Iterator[list[Stack]]:
    if cluster.poll is None:
        yield _refused(workers, "this cluster has no dashboard, which could ask py-spy there")
        return
    known = cluster.poll.dashboard
    dashboard = Dashboard(known.address, cluster.find_token, TRACEBACK_S, owner=known.owner)
    until = time.monotonic() + WHOLE_S
    try:
        if _forbids(dashboard.get("/api/profiling_enabled")):
            yield _refused(workers, OFF, OFF_MEND)
            return
        for first in range(0, len(workers), AT_ONCE):
            if time.monotonic() >= until:
                yield _refused(workers[first:], f"the dashboard did not come to it within {WHOLE_S:g} s")
                return
            some = workers[first : first + AT_ONCE]
            answers = dashboard.get_all([f"/worker/traceback?pid={w.pid}&node_id={w.node}&native=0" for w in some])
            yield list(map(_told, some, answers))
    finally:
        dashboard.close()


def _forbids(answer: Answer) -> bool:
    """Ray before 2.60 has no such path, and permits."""
    try:
        return answer.ok and not api_schema.data_of(answer.body, bool, "profilingEnabled")
    except msgspec.DecodeError:
        return False


def _told(worker: RemoteWorker, answer: Answer) -> Stack:
    said = answer.body[:LONGEST_DUMP_BYTES].decode("utf-8", "replace")
    if answer.status == 403:
        return _stack(worker, problem=OFF, mend=OFF_MEND)
    if not answer.ok:
        first = next((line for line in said.splitlines() if line.strip()), answer.in_words)[: 4 * LONGEST_PROBLEM]
        return _stack(worker, problem=NO_PYSPY if "py-spy is not installed" in said else clean_text(first)[:LONGEST_PROBLEM])
    threads = threads_of(said)
    return _stack(worker, threads, None if threads else "the dashboard gave no stack")


def _by_task(workers: Sequence[RemoteWorker], python: RayPython | None) -> Iterator[list[Stack]]:
    """One short task on each node, sent by a child."""
    if python is None:
        yield _refused(workers, NO_PYTHON)
        return
    nodes = grouped(workers, lambda worker: worker.node)
    why = f"the cluster did not run the task within {TASK_S:g} s"
    for told in _dumps(python, {node: [worker.pid for worker in there] for node, there in nodes.items()}):
        if told.node:
            yield [_dumped(worker, told) for worker in nodes.pop(told.node, [])]
        else:
            why = told.error
    if nodes:
        yield _refused(chain.from_iterable(nodes.values()), why)


def _dumps(python: RayPython, pids: Mapping[str, Sequence[int]]) -> Iterator[NodeDumps]:
    """Of each node (id → pids) as it answers. The child is ended when it takes too long."""
    try:
        child = python.start(PROGRAM, stdin=msgspec.json.encode(pids))
    except ChildError as error:
        yield NodeDumps(error=str(error))
        return
    until = time.monotonic() + TASK_S
    try:
        ended = False
        while not ended and time.monotonic() < until:
            ended = child.has_ended(LOOK_S)  # before its answers are read: then none comes after them
            for line in child.answers():
                with suppress(msgspec.DecodeError):
                    yield msgspec.json.decode(line, type=NodeDumps)
        if child.failed:
            yield NodeDumps(error=f"Ray's Python could not join the cluster: {child.last_words()}")
    finally:
        child.end()


def _dumped(worker: RemoteWorker, told: NodeDumps) -> Stack:
    dump, problem = told.dumps.get(str(worker.pid), (None, told.error or "nothing was told of it"))
    if problem == "no py-spy":
        return _stack(worker, problem=NO_PYSPY, mend="pip install py-spy, there")
    if dump is None or problem:
        return _stack(worker, problem=clean_text(pyspy.first_words(problem.encode()))[:LONGEST_PROBLEM])
    read = pyspy.read(worker.pid, bytes(dump))
    return _stack(worker, tuple(map(pyspy.thread, read.threads)), problem=read.error)


def threads_of(dump: str) -> tuple[Thread, ...]:
    """The threads in the text of `py-spy dump`, innermost frame first; none if this is no dump."""
    found: list[tuple[re.Match[str], list[pyspy.SpyFrame]]] = []
    for line in dump.splitlines():
        if head := _THREAD.match(line):
            found.append((head, []))
        elif found and line[:1].isspace() and (frame := _FRAME.fullmatch(line.strip())):
            name = whole_name(clean_text(frame["file"]))
            found[-1][1].append(pyspy.SpyFrame(frame["function"], name, int(frame["line"] or 0)))
    return tuple(_thread(head, frames) for head, frames in found)


def _thread(head: re.Match[str], frames: Sequence[pyspy.SpyFrame]) -> Thread:
    tid = int(head["id"]) if head["id"].isdecimal() else None
    how = (head["how"] or "").split("+")
    name = head["name"] or f"thread {head['id']}"
    return pyspy.thread(pyspy.SpyThread(tid or 0, tuple(frames), name, tid, owns_gil="gil" in how, active="active" in how))


def whole_name(file: str) -> str:
    """`threading.py` and `torch/cuda/streams.py` with the folders of their libraries, which the dump leaves out; the user's files
    as they are."""
    if file.startswith(("/", "<")) or ("/" not in file.removeprefix("./") and not file.endswith(".py")):
        return file
    top = file.partition("/")[0].removesuffix(".py")
    known = table().packages
    if top in sys.stdlib_module_names:
        return f"/lib/python3/{file}"
    return f"/site-packages/{file}" if "/" in file and top in known.plumbing | known.frameworks else file
