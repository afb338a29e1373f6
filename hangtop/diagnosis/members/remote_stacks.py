"""The workers of a run on other nodes, as Ray tells of them, and their stacks beside those of this machine. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.diagnosis.members.ray_ownership import clusters_of_run
from hangtop.records.ask import RemoteStacksAsk, RemoteWorker
from hangtop.records.stack import Frame, Stack, StacksReading, Thread
from hangtop.stacks.stack_classes import number
from hangtop.state.run_state import RunState

MOST_WORKERS = 256


def remote_stacks_ask(state: RunState, ask: int, *, task: bool = False) -> RemoteStacksAsk | None:
    """The question for the stacks of the run's workers on other nodes; `None` when there are none."""
    for cluster in clusters_of_run(state):
        away = [
            RemoteWorker(actor.node, actor.ray_pid, actor.rank, actor.host)
            for actor in cluster.actors
            if actor.pid is None and actor.ray_pid is not None and actor.node is not None and actor.has_process
        ]
        ranks = sorted((worker for worker in away if worker.rank is not None), key=lambda worker: worker.rank or 0)
        if away:
            return RemoteStacksAsk(ask, cluster.session, tuple((ranks or away)[:MOST_WORKERS]), task)
    return None


def with_remote_stacks(state: RunState, looks: tuple[StacksReading, ...]) -> tuple[tuple[StacksReading, ...], tuple[Stack, ...]]:
    """(looks, stacks of the last look together with the stacks of other nodes, each with its rank). Where no look was taken
    here, the stacks of other nodes are the look."""
    known = {rank.rank: rank.pid for rank in join_ranks(state) if rank.pid is not None}
    far = state.far_stacks
    here = number(looks[-1].stacks, known) if looks else ()
    if far is None:
        return looks, here
    if not looks:
        looks = (StacksReading(far.ask, started_at=far.at, done=far.done, took_s=None),)
    return looks, same_files((*here, *far.stacks))


def same_files(stacks: Iterable[Stack]) -> tuple[Stack, ...]:
    """The stacks with one name for each file. A dashboard leaves out the part of a path that is on `sys.path`: where another
    process has a file whose path ends so, and only one, it is that; and a library is the same in whatever folder it lies."""
    found = tuple(stacks)
    if not any(stack.host for stack in found):
        return found
    full = sorted({frame.file for stack in found for thread in stack.threads for frame in thread.frames if frame.file[:1] == "/"})
    longest: dict[str, str] = {}
    by_base: dict[str, set[str]] = {}
    for file in full:
        longest[_tail(file)] = max(longest.get(_tail(file), ""), file, key=len)
    for file in longest.values():
        by_base.setdefault(file.rpartition("/")[2], set()).add(file)

    def renamed(frame: Frame) -> Frame:
        file = frame.file
        if file.startswith("/"):
            fits = [longest[_tail(file)]]
        else:
            fits = [path for path in by_base.get(file.rpartition("/")[2], ()) if path.endswith(f"/{file}")]
        return frame if len(fits) != 1 or fits[0] == file else replace(frame, file=fits[0])

    def with_names(thread: Thread) -> Thread:
        return replace(thread, frames=tuple(map(renamed, thread.frames)))

    return tuple(replace(stack, threads=tuple(map(with_names, stack.threads))) for stack in found)


def _tail(file: str) -> str:
    """What a file of a library is called in every environment; other files by their whole path."""
    for mark in ("/site-packages/", "/dist-packages/"):
        if mark in file:
            return mark + file.partition(mark)[2]
    _, mark, rest = file.rpartition("/lib/python3")
    return f"{mark}/{rest.partition('/')[2]}" if mark else file
