"""The options of `ray start` that made a node, told from the command lines of its daemons (Ray 2.9 to 2.60). Pure.

The command that a person typed is not kept, but the daemons get all of its options, with those that Ray found by itself. Plain
defaults are left out here. CPUs, GPUs and memory are named, because Ray counts what is free when it starts.
"""

from __future__ import annotations

import base64
import binascii
import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from hangtop.records.ray import DaemonKind

Options = Mapping[str, str]
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
    head = "head" in raylet
    found = ["start", *(_head(words) if head else [f"--address={raylet['gcs-address']}"])]
    if raylet.get("node-ip-address"):
        found.append(f"--node-ip-address={raylet['node-ip-address']}")
    if (name := raylet.get("node-name")) and name != raylet.get("node-ip-address"):
        found.append(f"--node-name={name}")
    found += _resources(raylet)
    found += [f"--{port}={raylet[port]}" for port in PORTS if raylet.get(port, "0") not in ("", "0")]
    found += _agent_ports(raylet)
    found += _places(raylet, head)
    if labels := _labels(raylet.get("labels", "")):
        found.append(f"--labels={labels}")
    if raylet.get("ray-debugger-external") == "1":
        found.append("--ray-debugger-external")
    return tuple(found)


def resources_of(raylet: Sequence[str]) -> dict[str, float]:
    """The node's resources, memory in bytes: `--static_resource_list=CPU,8,GPU,1,…`. Raises `ValueError`."""
    parts = options_of(raylet).get("static-resource-list", "").split(",")
    return {name: float(value) for name, value in zip(parts[::2], parts[1::2], strict=False) if name}


def python_of(raylet: Sequence[str]) -> str | None:
    """The interpreter of Ray."""
    words = options_of(raylet).get("python-worker-command", "").split(" ")
    return words[0] if words[0].startswith("/") else None


def environ_of_start(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of the person who started Ray, from that of a raylet."""
    kept = {name: value for name, value in environ.items() if name not in GIVEN_BY_RAY}
    if kept.get("LD_PRELOAD", "").endswith(BUNDLED_ALLOCATOR):
        del kept["LD_PRELOAD"]
    return kept


def without_block(words: Sequence[str]) -> tuple[str, ...]:
    """A `ray start --block` without `--block`, so that it returns."""
    return tuple(word for word in words if word != "--block")


def spill_folder(raylet: Sequence[str]) -> str | None:
    """Where this node spills objects, if that is outside the session's folder: a folder named by the node's id."""
    options = options_of(raylet)
    place, session = options.get("fallback-directory", ""), options.get("session-dir", "")
    return f"{place}/ray_spilled_objects_{options.get('node-id', '')}" if place and place != session else None


def _head(words: Words) -> list[str]:
    gcs = options_of(words.get("gcs_server", ("",)))
    dashboard = options_of(words["dashboard"]) if "dashboard" in words else None
    found = ["--head", f"--port={gcs.get('gcs-server-port', '6379')}"]
    if dashboard is None or "disable-frontend" in dashboard:
        found.append("--include-dashboard=false")
    else:
        found += [f"--dashboard-host={dashboard.get('host', '127.0.0.1')}", f"--dashboard-port={dashboard.get('port', '8265')}"]
    if dashboard and dashboard.get("proxy-server-url"):
        found.append(f"--proxy-server-url={dashboard['proxy-server-url']}")
    if port := options_of(words.get("client_server", ("",))).get("port"):
        found.append(f"--ray-client-server-port={port}")
    if config := options_of(words.get("autoscaler", ("",))).get("autoscaling-config"):
        found.append(f"--autoscaling-config={config}")
    if password := gcs.get("redis-password"):
        found.append(f"--redis-password={password}")
    if user := gcs.get("redis-username"):
        found.append(f"--redis-username={user}")
    if config := _system_config(gcs.get("config-list", "")):
        found.append(f"--system-config={config}")
    return found


def _system_config(encoded: str) -> str:
    """The person's settings as JSON, without the spilling that Ray adds, which has an option of its own."""
    try:
        config: dict[str, Any] = json.loads(base64.b64decode(encoded)) if encoded else {}
    except (binascii.Error, json.JSONDecodeError) as error:
        raise ValueError(f"its system config cannot be read: {error}") from None
    files = '"filesystem"' in str(config.get("object_spilling_config", '"filesystem"'))
    kept = {name: value for name, value in config.items() if not (files and name in SPILLING)}
    return json.dumps(kept, separators=(",", ":")) if kept else ""


def _resources(raylet: Options) -> list[str]:
    """A missing `GPU` means 0; Ray would count again."""
    listed = raylet.get("static-resource-list", "").split(",")
    found = {"GPU": "0"} | {name: value for name, value in zip(listed[::2], listed[1::2], strict=False) if name}
    counted = [f"--{COUNTED[name]}={_whole(found[name])}" for name in COUNTED if name in found]
    custom = {n: float(v) for n, v in found.items() if n not in COUNTED and not n.startswith(OWN_RESOURCES)}
    if custom:
        whole = {name: int(value) if value.is_integer() else value for name, value in custom.items()}
        counted.append(f"--resources={json.dumps(whole)}")
    return counted


def _agent_ports(raylet: Options) -> list[str]:
    agent = options_of(_split(raylet.get("dashboard-agent-command", "")))
    named = (("listen-port", "dashboard-agent-listen-port"), ("grpc-port", "dashboard-agent-grpc-port"))
    return [f"--{option}={agent[name]}" for name, option in named if agent.get(name, "0") not in ("", "0")]


def _places(raylet: Options, head: bool) -> list[str]:
    """Folders; a node that joins takes the temporary folder of its head."""
    found = []
    if head and raylet.get("temp-dir", DEFAULT_TEMP_DIR) != DEFAULT_TEMP_DIR:
        found.append(f"--temp-dir={raylet['temp-dir']}")
    if raylet.get("plasma-directory", DEFAULT_PLASMA) != DEFAULT_PLASMA:
        found.append(f"--plasma-directory={raylet['plasma-directory']}")
    spill = raylet.get("fallback-directory", "")
    if spill and spill != raylet.get("session-dir"):
        found.append(f"--object-spilling-directory={spill}")
    return found


def _labels(text: str) -> str:
    try:
        labels = json.loads(text) if text else {}
    except json.JSONDecodeError:
        raise ValueError(f"its labels cannot be read: {text}") from None
    return ",".join(f"{name}={value}" for name, value in labels.items() if not name.startswith("ray.io/"))


def _whole(number: str) -> str:
    return str(int(float(number))) if float(number).is_integer() else number


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
