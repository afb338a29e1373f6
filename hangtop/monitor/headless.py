"""One watching session without a screen: a feed folded into a state, for `check`, plain output and everything headless."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from hangtop.diagnosis.members.ray_ownership import clusters_of_run, is_on_ray, uses_ray
from hangtop.diagnosis.members.remote_stacks import remote_stacks_ask
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.feeds.probe_feed import Feed
from hangtop.monitor.debug_requests import debug_request
from hangtop.monitor.questions import end_of, unanswered
from hangtop.monitor.request_pace import SECOND_LOOK_S
from hangtop.monitor.stack_requests import stack_request, waits_request
from hangtop.records.ask import LeftoversAsk, RemoteStacksAsk, StacksAsk, TorchDebugAsk
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.gpu import GpuReading
from hangtop.records.health import Heartbeat
from hangtop.records.host import HostReading
from hangtop.records.nodes import is_node, node_of
from hangtop.records.process import ProcessReading
from hangtop.records.reading import Reading
from hangtop.records.verdict import Verdict
from hangtop.state.run_state import RunState, fold

SETTLED_SOURCES = ("log", "procs")
"""Sources that must have looked once before a verdict is worth anything."""

FIRST_LOOK_S = 20.0
"""The first look at the processes takes at most this long."""

PATIENCE_S = 5.0
"""Their processes are waited for this long, from the first look on: on a busy machine, or beside a stuck one, that alone may
take long."""

FAR_S = 12.0
"""The stacks of other nodes take at most this much longer."""

LOOK_BACK_S = 600.0
"""Pause between looks at what an ended run left behind: more and more of it is old enough to be cleaned."""

WATCH_S = 12.0
"""A watch of what processes wait for takes no longer, as a rule; one without an answer by then is asked for again."""

LOOK_EVERY_S = 0.1
"""Between two looks at what a command waits for."""

TOO_LONG = "the look at this machine took too long: is a file system stuck? HANGTOP_DEBUG=FILE tells more"
"""Why there is no plan, where no other reason is known."""


def too_long(state: RunState) -> str:
    """Why there is no plan: what ails the probe, if anything does."""
    probe = state.probe
    return TOO_LONG if probe is None or probe.problem is None else f"{probe.problem}; HANGTOP_DEBUG=FILE tells more"


REGULAR = frozenset({Heartbeat, GpuReading, HostReading, ProcessReading, CheckpointReading})
"""These come every second or two by the clock. But for the first of its kind, the next tick shows one soon enough."""


async def states(feed: Feed, every_s: float) -> AsyncGenerator[RunState]:
    """The state about each `every_s` seconds, whether or not anything was read. Ends with the feed."""
    state = RunState()
    readings = feed.readings()
    queue: asyncio.Queue[Reading | None] = asyncio.Queue()

    async def follow() -> None:
        try:
            async for reading in readings:
                queue.put_nowait(reading)
        finally:  # also of what fails: else nobody would ever learn of it
            queue.put_nowait(None)

    task = asyncio.create_task(follow())
    loop = asyncio.get_running_loop()
    try:
        while True:
            due = loop.time() + every_s
            while (left_s := due - loop.time()) > 0:
                try:
                    async with asyncio.timeout(left_s):  # `wait_for` of Python 3.11 forgets a Ctrl-C (bpo-37658)
                        reading = await queue.get()
                except TimeoutError:
                    break
                if reading is None:
                    yield state
                    task.result()
                    return
                state = fold(state, reading)
            yield state
    finally:
        task.cancel()
        feed.close()


async def looks(feed: Feed, patience_s: float) -> AsyncIterator[tuple[RunState, float]]:
    """The state ten times a second, and the seconds waited so far; at most so many."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async for state in states(feed, LOOK_EVERY_S):
        waited_s = loop.time() - began
        yield state, waited_s
        if waited_s > patience_s:
            return


class StackRequester:
    """Asks the feed for what the verdict still needs, and not twice for the same."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._asked_at = -SECOND_LOOK_S
        self._waits_asked_at, self._waits_ask = -WATCH_S, 0
        self._debug: TorchDebugAsk | None = None
        self._looked_back_at = -LOOK_BACK_S

    def follow(self, snapshot: Snapshot) -> None:
        if snapshot.now - self._asked_at >= SECOND_LOOK_S and (ask := stack_request(snapshot)) is not None:
            self._asked_at = snapshot.now
            self._feed.ask(ask)
        last = snapshot.state.waits
        told = last is not None and last.done and last.ask == self._waits_ask
        late = snapshot.now - self._waits_asked_at >= WATCH_S
        if (told or late) and (waits := waits_request(snapshot)) is not None:
            self._waits_asked_at, self._waits_ask = snapshot.now, waits.ask
            self._feed.ask(waits)
        answered = self._debug is None or end_of(snapshot.state, self._debug) is not None
        if answered and (debug := debug_request(snapshot)) is not None:
            self._debug = debug
            self._feed.ask(debug)

    def look_back(self, verdict: Verdict, now: float) -> None:
        """Ask what a run that ended left behind; again now and then, for a path that was used lately is left alone."""
        if verdict.state.ended and now - self._looked_back_at >= LOOK_BACK_S:
            self._looked_back_at = now
            self._feed.ask(LeftoversAsk(int(now * 1000)))


def settled(state: RunState) -> bool:
    """Every source has looked once, or said why it cannot, so has each node that was named, and the log is read to its end, as of
    the start of the processes that are there: what is older is the past."""
    looked = [state.health[name] for name in SETTLED_SOURCES if name in state.health]
    log = state.health.get("log")
    failed = log is not None and log.problem is not None
    caught_up = state.log is not None and state.log.caught_up
    sought = state.procs is None or state.procs.sought
    if state.procs is not None and state.log is not None and not failed and state.log.began_at != state.procs.began_at:
        return False
    return bool(looked) and all(source.told for source in looked) and (caught_up or failed) and sought and nodes_told(state)


def ray_known(state: RunState) -> bool:
    """Whether Ray was looked for; a run that uses it has a session, once its processes are known."""
    return told_once(state, "ray") and (bool(clusters_of_run(state)) or not uses_ray(state))


def ray_looked(state: RunState) -> bool:
    """Whether Ray was looked at, where the run uses it: without rights its processes tell nothing, and Ray does."""
    return told_once(state, "ray") or not is_on_ray(state)


def told_once(state: RunState, name: str) -> bool:
    """Whether this source has looked once, or has said why it cannot, or is not asked at all."""
    health = state.health.get(name)
    return bool(state.health) and (health is None or health.told)


def gpus_read(state: RunState) -> bool:
    """Whether each GPU has given its first values: until then the processes on it are not known."""
    return not any(gpu.status == "reading" for node in state.gpus.values() for gpu in node.reading.gpus)


def nodes_told(state: RunState) -> bool:
    """Whether each node that was named has told of its processes, or why it cannot."""
    return bool(state.health) and all(health.told for name, health in state.health.items() if is_node(name))


class RemoteStackRequester:
    """Asks once for the stacks of the run's workers on other nodes, where it has any."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._asked: RemoteStacksAsk | None = None

    def told(self, state: RunState) -> bool:
        """Whether nothing more is to come. The log tells whether the run is on Ray, the Ray source tells its workers."""
        if not _log_told(state) or (uses_ray(state) and not state.ray and not told_once(state, "ray")):
            return False
        ask = remote_stacks_ask(state, 1)
        if ask is not None and self._asked is None:
            self._asked = ask
            self._feed.ask(ask)
        ended = self._asked is not None and unanswered(state, self._asked) is not None
        return ask is None or ended or (state.far_stacks is not None and state.far_stacks.done)


class NodeStackRequester:
    """Asks once for the stacks of the run's processes on the nodes that were named, when each has told of them, or why not."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._asked: StacksAsk | None = None

    def told(self, state: RunState) -> bool:
        """Whether nothing more is to come."""
        if not nodes_told(state):
            return False
        pids = tuple(process.pid for process in state.procs.processes if node_of(process.pid)) if state.procs else ()
        if pids and self._asked is None:
            self._asked = StacksAsk(1, pids)
            self._feed.ask(self._asked)
        return self._asked is None or unanswered(state, self._asked) is not None or any(look.done for look in state.looks)


def _log_told(state: RunState) -> bool:
    """Whether the log was read to its end, or cannot be. Its very first reading knows no framework yet."""
    health = state.health.get("log")
    failed = bool(state.health) and (health is None or bool(health.problem or health.absent))
    return failed or (state.log is not None and state.log.caught_up)


async def processes_of(feed: Feed) -> RunState:
    """The state once the processes of the run are known and the stacks of its processes on other nodes, or after long enough."""
    state = RunState()
    loop = asyncio.get_running_loop()
    until = loop.time() + FIRST_LOOK_S
    looked, stacks, nodes = False, RemoteStackRequester(feed), NodeStackRequester(feed)
    async for state in states(feed, LOOK_EVERY_S):
        if state.procs is not None and not looked:
            looked, until = True, loop.time() + PATIENCE_S
        known = state.procs is not None and state.procs.processes
        late = loop.time() > until
        if (known or late) and ((stacks.told(state) and nodes.told(state)) or loop.time() > until + FAR_S):
            break
    return state
