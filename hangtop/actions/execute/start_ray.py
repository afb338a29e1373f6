"""Start the nodes of a Ray session again, and prove that they are there: port, health, nodes, resources."""

from __future__ import annotations

import contextlib
import shlex
import socket
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import NamedTuple

from hangtop.actions.execute.commands import run_command
from hangtop.actions.execute.steps import CancelFlag, step
from hangtop.common import clock, text
from hangtop.common.clean_text import clean_text
from hangtop.common.raw_text import raw_environ
from hangtop.common.secrets.redactor import Redactor
from hangtop.probe.context import ProbeContext
from hangtop.probe.ray.ray_source import RaySource
from hangtop.probe.source import Absent, SourceError
from hangtop.records.plan import RayStart, Step
from hangtop.records.ray.cluster import RayCluster, RayReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.stores import launch_store

HIDDEN = "***"
HEALTHY_WITHIN_S = 120.0
LASTING_S = 30.0
"""What a healthy cluster still lacks after that long will not come."""
POLL_S = 1.0
CONNECT_S = 2.0
GIVEN = frozenset({"memory", "object_store_memory"})
"""Bytes of these may be rounded on the way."""


class Prepared(NamedTuple):
    """A start with its secrets, which never leave this process."""

    start: RayStart
    argv: list[str]
    environ: dict[str, str]


def prepared(starts: Sequence[RayStart]) -> list[Prepared]:
    """Call it before anything is ended: what cannot be started again must not be stopped. Raises `OSError`, `DecodeError`."""
    return [Prepared(start, *_with_secrets(start)) for start in starts]


def started(nodes: Sequence[Prepared], halt: CancelFlag) -> Generator[Step, None, bool]:
    """Start each node, the head first, then prove it. Returns whether all of it is as before."""
    for node in nodes:
        if halt():
            yield step("skipped", f"not started: {shlex.join(node.start.argv)}")
            return False
        if not (yield from _start(*node)):
            return False
    return (yield from _prove([node.start for node in nodes], halt))


def _start(start: RayStart, argv: Sequence[str], environ: Mapping[str, str]) -> Generator[Step, None, bool]:
    """`ray start` ends when its daemons are up. They have sessions of their own, and outlive us."""
    yield step("doing", f"{shlex.join(start.argv)}, within {start.deadline_s:.0f} s, in {start.cwd}")
    try:
        code, printed, took_s = run_command(argv, start.deadline_s, cwd=start.cwd, env=raw_environ(environ))
    except OSError as error:
        yield step("failed", f"Ray was not started: {error}")
        return False
    if code != 0:
        late = f"did not come back within {start.deadline_s:.0f} s"
        ended = late if code is None else f"ended with exit code {code} after {took_s:.1f} s"
        last = Redactor().text(clean_text(printed[-1] if printed else "it said nothing"))[:300]
        yield step("failed", f"ray start {ended}: {last}")
        return False
    yield step("done", f"Ray is started{'' if start.head else ', node joined'}, {took_s:.1f} s")
    return True


def _with_secrets(start: RayStart) -> tuple[list[str], dict[str, str]]:
    """What is shown as `***` lies in the environment's file under the name of its option. Raises `OSError`, `DecodeError`."""
    environ = launch_store.environ_of(start.environ_file)
    hidden = {name: environ.pop(name) for name in list(environ) if name.startswith("-")}
    words = [hidden.get(word.partition("=")[0], word) if HIDDEN in word else word for word in start.argv]
    return words, environ | start.set_env


def _prove(starts: Sequence[RayStart], halt: CancelFlag) -> Generator[Step, None, bool]:
    """Fresh looks, until all is well or the time is over."""
    until = time.monotonic() + HEALTHY_WITHIN_S
    problems, since = list[str](), time.monotonic()
    cluster: RayCluster | None = None
    with contextlib.closing(RaySource(ProbeContext(WatchSpec(ray=starts[0].gcs_address)))) as source:
        while True:
            cluster = _look(source) or cluster
            before, problems = problems, _problems(cluster, starts)
            since = since if problems == before else time.monotonic()
            lasts = cluster is not None and cluster.api.gcs_ok is not False and time.monotonic() - since > LASTING_S
            if not problems or lasts or time.monotonic() > until or halt():
                break
            time.sleep(POLL_S)
    for problem in problems:
        yield step("survived", problem)
    if not problems:
        yield from _well(cluster, starts)
    return not problems


def _look(source: RaySource) -> RayCluster | None:
    try:
        readings = [value for value in source.read(clock.now()) if isinstance(value, RayReading)]
    except (Absent, SourceError):  # not there yet
        return None
    return next((cluster for reading in readings for cluster in reading.clusters if cluster.ended_at is None), None)


def _problems(cluster: RayCluster | None, starts: Sequence[RayStart]) -> list[str]:
    """What is not as it was, in words; nothing when all is."""
    address, has_dashboard = starts[0].gcs_address, starts[0].dashboard is not None
    if not _answers(address):
        return [f"nobody answers at {address}"]
    if cluster is None:
        return ["no daemon of the new session is seen"]
    if not has_dashboard:
        return []
    if cluster.api.answer != "ok":
        why = cluster.api.problem or cluster.api.answer
        return [f"the dashboard at {cluster.api.address} does not answer as it should: {why}"]
    if cluster.api.gcs_ok is False:
        return [f"the dashboard at {cluster.api.address} says that the GCS is not healthy"]
    nodes = [node for node in cluster.nodes if node.alive and node.local]
    found = [f"{len(nodes)} of {text.some(len(starts), 'node')} of this machine is there"] if len(nodes) < len(starts) else []
    return [*found, *_missing(_sum(node.total for node in nodes), _sum(start.resources for start in starts))]


def _missing(now: Mapping[str, float], before: Mapping[str, float]) -> Iterator[str]:
    for name, value in before.items():
        if name.startswith("node:"):
            continue
        has = now.get(name, 0.0)
        if abs(has - value) > (0.01 * value if name in GIVEN else 1e-3):
            yield f"{name}: {_amount(name, has)}, before {_amount(name, value)}"


def _well(cluster: RayCluster | None, starts: Sequence[RayStart]) -> Iterator[Step]:
    address = starts[0].gcs_address
    if cluster is None or cluster.api.answer != "ok":
        yield step("proof", f"Ray answers at {address}; it has no dashboard that could tell of its health")
        return
    alive = sum(node.alive for node in cluster.nodes)
    total = _sum(start.resources for start in starts)
    has = ", ".join(f"{_amount(n, v)} {n}" for n, v in sorted(total.items()) if not n.startswith("node:"))
    health = "gcs_healthz 200" if cluster.api.gcs_ok else "the dashboard answers"
    yield step("proof", f"port {address.rpartition(':')[2]} answers; {health} at {cluster.api.address}")
    having = f" with {has}" if has else ""
    yield step("proof", f"session {cluster.session}: {text.some(alive, 'node')}{having}, as before")


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), CONNECT_S):
            return True
    except (OSError, ValueError):
        return False


def _sum(resources: Iterator[Mapping[str, float]]) -> dict[str, float]:
    nodes = list(resources)
    return {name: sum(node.get(name, 0.0) for node in nodes) for of_node in nodes for name in of_node}


def _amount(name: str, value: float) -> str:
    return text.size(int(value)) if "memory" in name else f"{value:g}"
