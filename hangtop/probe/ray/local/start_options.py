"""The options of `ray start` that made a node, told from the command lines of its daemons (Ray 2.9 to 2.60). Pure.

The command that a person typed is not kept, but the daemons get all of its options, with those that Ray found by itself. Plain
defaults are left out here. CPUs, GPUs and memory are named, because Ray counts what is free when it starts.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from hangtop.records.ray.cluster import DaemonKind

Words = Mapping[DaemonKind, Sequence[str]]
"""The command lines of one node's daemons, by kind."""

OWN_RESOURCES = ("node:", "accelerator_type:")
"""Resources that Ray adds by itself."""
COUNTED = {"CPU": "num-cpus", "GPU": "num-gpus", "memory": "memory", "object_store_memory": "object-store-memory"}
PORTS = (
    "object-manager-port",
    "node-manager-port",
    "min-worker-port",
    "max-worker-port",
    "worker-port-list",
    "metrics-export-port",
    "runtime-env-agent-port",
)
"""Options of the raylet with the same name. 0 and empty: Ray chose."""
SPILLING = frozenset({"automatic_object_spilling_enabled", "object_spilling_config", "is_external_storage_type_fs"})
DEFAULT_TEMP_DIR, DEFAULT_PLASMA = "/tmp/ray", "/dev/shm"
GIVEN_BY_RAY = ("RAY_CLIENT_MODE", "RAY_LD_PRELOAD_ON_WORKERS", "RAY_JOB_ID", "RAY_RAYLET_PID")
"""Variables that Ray sets for its own daemons."""
BUNDLED_ALLOCATOR = "/ray/core/libjemalloc.so"


def options_of(words: Sequence[str]) -> dict[str, str]:
    """`--name=value` by name, `--name` alone with an empty value; Ray writes some names with `_`, some with `-`."""
    pairs = (word.partition("=") for word in words[1:] if word.startswith("--"))
    return {name.lstrip("-").replace("_", "-"): value for name, _, value in pairs}


def start_command(words: Words) -> tuple[str, ...]:
    """`ray start` with all options, without the program. `words` holds a raylet. Raises `ValueError` when they are strange."""
    raylet = options_of(words["raylet"])
    agent = options_of(raylet.get("dashboard-agent-command", "").split())
    address, head = raylet.get("node-ip-address", ""), "head" in raylet
    return (
        "start",
        *(_head(words) if head else [f"--address={raylet['gcs-address']}"]),
        *_option("node-ip-address", address),
        *_option("node-name", raylet.get("node-name"), address),
        *_resources(words["raylet"]),
        *chain.from_iterable(_option(port, raylet.get(port), "0") for port in PORTS),
        *_option("dashboard-agent-listen-port", agent.get("listen-port"), "0"),
        *_option("dashboard-agent-grpc-port", agent.get("grpc-port"), "0"),
        *(_option("temp-dir", raylet.get("temp-dir"), DEFAULT_TEMP_DIR) if head else ()),  # else that of its head
        *_option("plasma-directory", raylet.get("plasma-directory"), DEFAULT_PLASMA),
        *_option("object-spilling-directory", raylet.get("fallback-directory"), raylet.get("session-dir")),
        *_option("labels", _labels(raylet.get("labels", ""))),
        *(("--ray-debugger-external",) if raylet.get("ray-debugger-external") == "1" else ()),
    )


def _option(name: str, value: str | None, usual: str | None = None) -> tuple[str, ...]:
    """None where Ray would choose the same by itself."""
    return () if value in (None, "", usual) else (f"--{name}={value}",)


def resources_of(raylet: Sequence[str]) -> dict[str, float]:
    """The node's resources, memory in bytes: `--static_resource_list=CPU,8,GPU,1,…`. Raises `ValueError`."""
    parts = options_of(raylet).get("static-resource-list", "").split(",")
    return {name: float(value) for name, value in zip(parts[::2], parts[1::2], strict=False) if name}


def python_of(raylet: Sequence[str]) -> str | None:
    """The interpreter of Ray."""
    program, _, _ = options_of(raylet).get("python-worker-command", "").partition(" ")
    return program if program.startswith("/") else None


def environ_of_start(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of the person who started Ray, from that of a raylet."""
    kept = {name: value for name, value in environ.items() if name not in GIVEN_BY_RAY}
    if kept.get("LD_PRELOAD", "").endswith(BUNDLED_ALLOCATOR):
        del kept["LD_PRELOAD"]
    return kept


def spill_folder(raylet: Sequence[str]) -> str | None:
    """Where this node spills objects, if that is outside the session's folder: a folder named by the node's id."""
    options = options_of(raylet)
    place, session = options.get("fallback-directory", ""), options.get("session-dir", "")
    return f"{place}/ray_spilled_objects_{options.get('node-id', '')}" if place and place != session else None


def _head(words: Words) -> tuple[str, ...]:
    gcs, dashboard, clients, autoscaler = (
        options_of(words.get(kind, ())) for kind in ("gcs_server", "dashboard", "client_server", "autoscaler")
    )
    shown = "dashboard" in words and "disable-frontend" not in dashboard
    return (
        "--head",
        f"--port={gcs.get('gcs-server-port') or _port_of(words['raylet'])}",
        *(() if shown else ("--include-dashboard=false",)),
        *(_option("dashboard-host", dashboard.get("host", "127.0.0.1")) if shown else ()),
        *(_option("dashboard-port", dashboard.get("port", "8265")) if shown else ()),
        *_option("proxy-server-url", dashboard.get("proxy-server-url")),
        *_option("ray-client-server-port", clients.get("port")),
        *_option("autoscaling-config", autoscaler.get("autoscaling-config")),
        *_option("redis-password", gcs.get("redis-password")),
        *_option("redis-username", gcs.get("redis-username")),
        *_option("system-config", _system_config(gcs.get("config-list", ""))),
    )


def _port_of(raylet: Sequence[str]) -> str:
    """The GCS's port as its raylet knows it, for a GCS that was gone before anybody looked."""
    return options_of(raylet).get("gcs-address", "").rpartition(":")[2] or "6379"


def _system_config(encoded: str) -> str:
    """The person's settings as JSON, without the spilling that Ray adds, which has an option of its own."""
    try:
        config: dict[str, Any] = json.loads(base64.b64decode(encoded)) if encoded else {}
    except (binascii.Error, json.JSONDecodeError) as error:
        raise ValueError(f"its system config cannot be read: {error}") from None
    files = '"filesystem"' in str(config.get("object_spilling_config", '"filesystem"'))
    kept = {name: value for name, value in config.items() if not (files and name in SPILLING)}
    return json.dumps(kept, separators=(",", ":")) if kept else ""


def _resources(raylet: Sequence[str]) -> list[str]:
    """A missing `GPU` means 0; Ray would count again."""
    amounts = {"GPU": 0.0} | resources_of(raylet)
    found = {name: int(amount) if amount.is_integer() else amount for name, amount in amounts.items()}
    counted = [f"--{COUNTED[name]}={found[name]}" for name in COUNTED if name in found]
    custom = {name: value for name, value in found.items() if name not in COUNTED and not name.startswith(OWN_RESOURCES)}
    return [*counted, *([f"--resources={json.dumps(custom)}"] if custom else [])]


def _labels(text: str) -> str:
    try:
        labels = json.loads(text) if text else {}
    except json.JSONDecodeError:
        raise ValueError(f"its labels cannot be read: {text}") from None
    return ",".join(f"{name}={value}" for name, value in labels.items() if not name.startswith("ray.io/"))
