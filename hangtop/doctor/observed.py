"""What the probe's sources show before a start: GPUs, leftovers of earlier runs, Ray."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

from hangtop.actions.prove.gpu_freed import FREE_BYTES
from hangtop.common import clock
from hangtop.common.text import size, some
from hangtop.diagnosis.facts import ray_health as ray_words
from hangtop.diagnosis.facts.gpu_outliers import BAD, facts
from hangtop.diagnosis.facts.ray_pending import pending_resources
from hangtop.doctor import gpus_asked, packages
from hangtop.doctor.check_types import Check, Subject, fail, ok, unknown, warn
from hangtop.feeds.probe_feed import ProbeFeed
from hangtop.monitor.headless import looks
from hangtop.records.gpu import GpuReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

SOURCES = ("gpu", "procs", "ray")
PATIENCE_S = 5.0
UNANSWERED = frozenset(("reading", "late", "no answer"))
DMESG = "sudo dmesg | grep -i -e xid -e nvrm"
COMPAT = "/usr/local/cuda/compat"


def observed(subject: Subject) -> Iterator[Check]:
    """Look once through a probe: a driver that hangs then blocks only the probe."""
    state = asyncio.run(_look())
    yield from _gpus(state)
    yield from _asked(state, subject)
    yield from _leftovers(state)
    yield from _ray(state)
    yield from _pairs(state, subject)


def _pairs(state: RunState, subject: Subject) -> Iterator[Check]:
    """Installed versions against those of the driver and the Ray cluster."""
    drivers = {node.reading.driver for node in state.gpus.values()}
    clusters = {cluster.api.version for reading in state.ray.values() for cluster in reading.clusters}
    if not drivers and not clusters:
        return
    try:
        installed = packages.installed(subject.python)
    except (OSError, subprocess.SubprocessError, ValueError):
        return  # `packages.versions` says why
    for version in drivers:
        yield from packages.driver_fit(installed, version, has_compat=Path(COMPAT).exists())
    for version in clusters:
        yield from packages.cluster_fit(installed, version)


async def _look() -> RunState:
    state = RunState()
    async for state, _ in looks(ProbeFeed(WatchSpec(sources=SOURCES)), PATIENCE_S):
        health = [state.health.get(name) for name in SOURCES]
        told = all(source is not None and source.told for source in health)
        if told and all(_answered(node.reading) for node in state.gpus.values()):
            break
    return state


def _answered(reading: GpuReading) -> bool:
    """Whether the driver has said what there is. Its first call may take long, or for ever."""
    return reading.driver is not None and not _silent(reading)


def _silent(reading: GpuReading) -> tuple[int, ...]:
    """The GPUs that gave no value at all so far, and of which the driver does not say why."""
    return tuple(gpu.index for gpu in reading.gpus if gpu.read_at is None and gpu.status in UNANSWERED)


def _asked(state: RunState, subject: Subject) -> Iterator[Check]:
    """GPUs that the command wants. Where a Ray cluster has other nodes, its pools may lie there."""
    nodes = [node for reading in state.ray.values() for cluster in reading.clusters for node in cluster.nodes if node.alive]
    gpus = [gpu for node in state.gpus.values() for gpu in node.reading.gpus]
    if all(node.reading.driver is not None for node in state.gpus.values()):
        yield from gpus_asked.fit(subject, gpus, one_node=len(nodes) <= 1)


def _gpus(state: RunState) -> Iterator[Check]:
    health = state.health.get("gpu")
    if health is not None and health.absent:
        yield unknown("gpu", "driver", health.absent)
        return
    if not state.gpus or (health is not None and health.problem):
        why = health.problem if health is not None and health.problem else f"the driver gave no answer in {PATIENCE_S:.0f} s"
        yield fail("gpu", "driver", why, DMESG)
        return
    for node in state.gpus.values():
        reading = node.reading
        if reading.driver is None and not reading.gpus:
            call = f" in {reading.stuck_in}" if reading.stuck_in else ""
            yield fail("gpu", "driver", f"the {reading.vendor} driver gave no answer in {PATIENCE_S:.0f} s{call}", DMESG)
            continue
        yield ok("gpu", "driver", f"{reading.vendor} {reading.driver or ''}, {some(len(reading.gpus), 'GPU')}")
        for index in _silent(reading):
            yield fail("gpu", f"GPU {index}", f"no answer in {PATIENCE_S:.0f} s", f"nvidia-smi -q -i {index}")
        for fact in facts(node, clock.now()):
            if fact.kind in BAD - {"idle", "empty"} or fact.kind in ("memory errors", "remap", "xid"):
                yield fail("gpu", f"GPU {fact.index}", fact.text, f"nvidia-smi -q -i {fact.index}")
        for gpu in reading.gpus:
            if (gpu.used_bytes or 0) > FREE_BYTES:
                who = ", ".join(f"pid {process.pid}" for process in gpu.processes) or "no process that can be seen"
                detail = f"{size(gpu.used_bytes)} taken by {who}"
                yield warn("gpu", f"GPU {gpu.index} memory", detail, f"fuser -v /dev/nvidia{gpu.index}")


def _leftovers(state: RunState) -> Iterator[Check]:
    procs = state.procs
    if procs is None:
        yield unknown("leftovers", "processes", "the process table was not read in time")
        return
    for orphan in procs.orphans[:5]:
        daemon = orphan.role == "ray daemon"
        what = "its Ray session has neither GCS nor raylet" if daemon else "lost its parent"
        mend = "hangtop clean" if daemon else f"hangtop stop --pid {orphan.pid}"
        yield warn("leftovers", f"pid {orphan.pid}", f"{what}: {orphan.command}", mend)
    for parent in sorted({zombie.ppid for zombie in procs.zombies})[:5]:
        pids = [str(zombie.pid) for zombie in procs.zombies if zombie.ppid == parent]
        detail = f"pid {parent} does not reap {len(pids)} that ended: {', '.join(pids[:5])}{' …' if len(pids) > 5 else ''}"
        mend = (
            "docker run --init …   (PID 1 of the container must reap)"
            if parent == 1
            else f"ps -o pid,ppid,stat,cmd --ppid {parent}"
        )
        yield warn("leftovers", "zombies", detail, mend)
    if not procs.orphans and not procs.zombies:
        yield ok("leftovers", "processes", "no orphans, no zombies")


def _ray(state: RunState) -> Iterator[Check]:
    health = state.health.get("ray")
    if health is not None and (health.absent or health.problem):
        yield Check("ray", "cluster", "fail" if health.problem else "ok", health.problem or health.absent or "")
        return
    for cluster in (cluster for reading in state.ray.values() for cluster in reading.clusters):
        troubles = ray_words.troubles(cluster, clock.now())
        for trouble in troubles:
            yield fail("ray", trouble.part, trouble.text, trouble.mend)
        for wish in pending_resources(cluster)[:3]:
            yield warn("ray", "resources", f"{wish.who} waits for {wish.asks}", "ray status")
        if not any(part.kind in ("gcs_server", "raylet") and part.gone_at is None for part in cluster.parts):
            yield warn("ray", "cluster", f"{cluster.session}: neither GCS nor raylet lives here", "hangtop clean")
        elif not troubles:
            yield ok("ray", "cluster", f"{some(len(cluster.nodes), 'node')}, {some(len(cluster.actors), 'actor')}")
