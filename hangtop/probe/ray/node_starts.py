"""The commands that would start the nodes of a session again on this machine. Their environments are stored for us alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from hangtop.probe.ray.local.daemons import Daemon, without_secrets
from hangtop.probe.ray.local.start_options import environ_of_start, python_of, resources_of, start_command, without_block
from hangtop.records.plan import RayStart
from hangtop.records.ray.cluster import DaemonKind
from hangtop.system.stores import launch_store

Told = tuple[tuple[RayStart, ...], str, tuple[str, ...]]
"""(starts with the head first, why there are none, warnings)."""
ISOLATED = "it ran with resource isolation, whose reserves are not rebuilt: add --enable-resource-isolation … yourself"
BLOCKED = (
    "ray start --block ends with it, and so may what waits for it, such as a batch job; the new one is started without --block"
)
CLIENTS = "no client server (ray://) of it is seen: the new one listens on 10001"
REDIS = "its GCS keeps its state in Redis: actors and jobs of the old session may come back with the new one"


def starts_of(daemons: Sequence[Daemon], blocking: Mapping[int, tuple[int, tuple[str, ...]]], holder: int | None) -> Told:
    """`daemons`: of the session, also those that ended. `blocking`: the `ray start --block` of each raylet. `holder`: the driver
    that started the session."""
    if holder is not None:
        return (), f"pid {holder} started it with ray.init(): it has no ray start of its own, its driver brings a new one", ()
    raylets = _latest_of_each_node(daemons)
    if not raylets:
        return (), "its raylet was gone before hangtop saw it, so its options are not known: ray start --head …", ()
    try:
        starts = [_start(raylet, daemons, blocking.get(raylet.pid)) for raylet in raylets]
    except (ValueError, KeyError) as error:
        return (), f"its options cannot be rebuilt: {error}", ()
    except OSError as error:
        return (), f"its environment cannot be kept: {error.strerror}: {error.filename}", ()
    held = (BLOCKED,) if blocking else ()
    return tuple(sorted(starts, key=lambda start: not start.head)), "", (*held, *_warnings(daemons))


def _latest_of_each_node(daemons: Iterable[Daemon]) -> list[Daemon]:
    found: dict[str | None, Daemon] = {}
    for daemon in sorted(daemons, key=lambda daemon: daemon.started_at):
        if daemon.kind == "raylet":
            found[daemon.node] = daemon
    living = [daemon for daemon in found.values() if daemon.gone_at is None]
    heads = [daemon for daemon in found.values() if "--head" in daemon.start.words]
    return living if living and any(daemon in living for daemon in heads) else [*heads, *(d for d in living if d not in heads)]


def _start(raylet: Daemon, daemons: Iterable[Daemon], block: tuple[int, tuple[str, ...]] | None) -> RayStart:
    told = sorted((daemon for daemon in daemons if daemon.start.words), key=lambda daemon: daemon.started_at)
    words: dict[DaemonKind, Sequence[str]] = {daemon.kind: daemon.start.words for daemon in (*told, raylet)}
    raw = without_block(block[1]) if block is not None else (*_program(raylet), *start_command(words))
    shown = tuple(map(without_secrets, raw))
    hidden = {whole.partition("=")[0]: whole for whole, safe in zip(raw, shown, strict=True) if whole != safe}
    return RayStart(
        argv=shown,
        cwd=raylet.cwd or "/",
        environ_file=launch_store.keep_environ(environ_of_start(raylet.start.environ) | hidden),
        gcs_address=raylet.gcs_address or "",
        head="--head" in raylet.start.words,
        dashboard=next((d.dashboard for d in daemons if d.kind == "dashboard" and d.dashboard), None),
        resources=_promised(resources_of(raylet.start.words), raw),
    )


def _promised(resources: Mapping[str, float], argv: Sequence[str]) -> dict[str, float]:
    """The resources without memory, unless the command names it: Ray counts what is free when it starts."""
    named = {word.partition("=")[0].lstrip("-").replace("-", "_") for word in argv}
    return {name: value for name, value in resources.items() if "memory" not in name or name in named}


def _program(raylet: Daemon) -> tuple[str, ...]:
    """The `ray` beside the node's interpreter, else Ray as a module of it. Raises `ValueError`."""
    python = python_of(raylet.start.words)
    if python is None:
        raise ValueError("its command line does not name the interpreter")
    beside = os.path.join(os.path.dirname(python), "ray")
    return (beside,) if os.access(beside, os.X_OK) else (python, "-m", "ray.scripts.scripts")


def _warnings(daemons: Sequence[Daemon]) -> Iterable[str]:
    words = {word.partition("=")[0] for daemon in daemons for word in daemon.start.words}
    if "--enable-resource-isolation" in words:
        yield ISOLATED
    if "--redis_address" in words:
        yield REDIS
    if "--head" in words and not any(daemon.kind == "client_server" for daemon in daemons):
        yield CLIENTS
