"""The options of `ray start` are told from what its daemons were given: each option, on its own row."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from hangtop.probe.ray.local.daemons import Daemon, DaemonStart
from hangtop.probe.ray.local.start_options import environ_of_start, resources_of, spill_folder, start_command
from hangtop.probe.ray.session import starts_of
from hangtop.records.ray.cluster import DaemonKind
from hangtop.system.processes.table import Identity
from hangtop.system.stores import launch_store

SESSION = "/tmp/r/session_2026-01-01_00-00-00_0_1"
AGENT = "/env/bin/python -u /env/ray/dashboard/agent.py --node-id=n1"


def raylet(**changed: str) -> list[str]:
    """As Ray 2.60 writes it for `ray start --head --num-cpus=4` on a machine without GPUs."""
    options = {
        "object_manager_port": "0",
        "min_worker_port": "0",
        "max_worker_port": "0",
        "node_manager_port": "0",
        "node_id": "n1",
        "node_ip_address": "10.0.0.1",
        "static_resource_list": "node:10.0.0.1,1.0,node:__internal_head__,1.0,CPU,4,memory,1000,object_store_memory,500",
        "python_worker_command": "/env/bin/python /env/ray/setup_worker.py --redis-address=None",
        "temp_dir": "/tmp/ray",
        "session_dir": SESSION,
        "metrics_export_port": "0",
        "runtime_env_agent_port": "0",
        "plasma_directory": "/dev/shm",
        "fallback_directory": SESSION,
        "ray-debugger-external": "0",
        "gcs-address": "10.0.0.1:6379",
        "labels": "",
        "dashboard_agent_command": f"{AGENT} --grpc-port=0 --listen-port=52365",
        "node-name": "10.0.0.1",
        "head": "",
    } | changed
    return ["/env/ray/raylet", *(f"--{name}={value}" if name != "head" else "--head" for name, value in options.items())]


def gcs(config: dict[str, object] | None = None, **options: str) -> list[str]:
    encoded = base64.b64encode(json.dumps(config).encode()).decode() if config is not None else ""
    return [
        "/env/ray/gcs_server",
        f"--config_list={encoded}",
        "--gcs_server_port=6379",
        *(f"--{k}={v}" for k, v in options.items()),
    ]


DASHBOARD = ["/env/bin/python", "/env/ray/dashboard/dashboard.py", "--host=127.0.0.1", "--port=8265"]
CLIENTS = ["/env/bin/python", "-m", "ray.util.client.server", "--port=10001"]
PLAIN = {"raylet": raylet(), "gcs_server": gcs(), "dashboard": DASHBOARD, "client_server": CLIENTS}


def test_a_plain_head_is_told_in_full() -> None:
    assert start_command(PLAIN) == (
        "start", "--head", "--port=6379", "--dashboard-host=127.0.0.1", "--dashboard-port=8265",
        "--ray-client-server-port=10001", "--node-ip-address=10.0.0.1", "--num-cpus=4", "--num-gpus=0", "--memory=1000",
        "--object-store-memory=500", "--dashboard-agent-listen-port=52365",
    )  # fmt: skip


SPILL = json.dumps({"type": "filesystem", "params": {"directory_path": "/data/spill"}})
S3 = json.dumps({"type": "smart_open", "params": {"uri": "s3://bucket/path"}})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"raylet": raylet(static_resource_list="CPU,2,GPU,8,accelerator_type:H100,1")}, "--num-gpus=8"),
        ({"raylet": raylet(static_resource_list="CPU,2,my bar,3,half,0.5")}, '--resources={"my bar": 3, "half": 0.5}'),
        ({"raylet": raylet(min_worker_port="20000")}, "--min-worker-port=20000"),
        ({"raylet": raylet(worker_port_list="7,8,9")}, "--worker-port-list=7,8,9"),
        ({"raylet": raylet(object_manager_port="8076")}, "--object-manager-port=8076"),
        ({"raylet": raylet(node_manager_port="6380")}, "--node-manager-port=6380"),
        ({"raylet": raylet(metrics_export_port="8080")}, "--metrics-export-port=8080"),
        ({"raylet": raylet(temp_dir="/scratch/ray")}, "--temp-dir=/scratch/ray"),
        ({"raylet": raylet(plasma_directory="/mnt/huge")}, "--plasma-directory=/mnt/huge"),
        ({"raylet": raylet(fallback_directory="/data/spill")}, "--object-spilling-directory=/data/spill"),
        ({"raylet": raylet(labels='{"ray.io/node-id": "n1", "zone": "a"}')}, "--labels=zone=a"),
        ({"raylet": raylet(**{"node-name": "trainer"})}, "--node-name=trainer"),
        ({"raylet": raylet(**{"ray-debugger-external": "1"})}, "--ray-debugger-external"),
        ({"raylet": raylet(dashboard_agent_command=f"{AGENT} --grpc-port=4 --listen-port=5")}, "--dashboard-agent-grpc-port=4"),
        ({"dashboard": [*DASHBOARD, "--disable-frontend"]}, "--include-dashboard=false"),
        ({"gcs_server": gcs({"health_check_period_ms": 4000})}, '--system-config={"health_check_period_ms":4000}'),
        ({"gcs_server": gcs(redis_password="hunter2")}, "--redis-password=hunter2"),
        ({"autoscaler": ["python", "monitor.py", "--autoscaling-config=/etc/a.yaml"]}, "--autoscaling-config=/etc/a.yaml"),
    ],
)
def test_each_option_is_told(words: dict[str, list[str]], said: str) -> None:
    assert said in start_command({**PLAIN, **words})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("words", "never"),
    [
        ({"raylet": raylet(static_resource_list="CPU,2,accelerator_type:H100,1")}, "--resources"),
        ({"raylet": raylet()}, "--temp-dir"),
        ({"raylet": raylet()}, "--labels"),
        ({"gcs_server": gcs({"object_spilling_config": SPILL, "automatic_object_spilling_enabled": True})}, "--system-config"),
        ({"raylet": raylet()}, "--node-name"),
    ],
)
def test_what_ray_finds_by_itself_is_left_to_it(words: dict[str, list[str]], never: str) -> None:
    assert not [word for word in start_command({**PLAIN, **words}) if word.startswith(never)]  # type: ignore[dict-item]


def test_spilling_elsewhere_than_to_files_stays_in_the_system_config() -> None:
    (word,) = (w for w in start_command({**PLAIN, "gcs_server": gcs({"object_spilling_config": S3})}) if "system-config" in w)
    assert json.loads(word.partition("=")[2]) == {"object_spilling_config": S3}


def test_a_node_that_joins_takes_ports_of_its_own_and_the_place_of_its_head() -> None:
    joined = [word for word in raylet(temp_dir="/scratch/ray") if word != "--head"]
    told = start_command({**PLAIN, "raylet": joined})
    assert told[:2] == ("start", "--address=10.0.0.1:6379")
    assert not [word for word in told if word.startswith(("--head", "--port", "--dashboard-port", "--temp-dir", "--system"))]


@pytest.mark.parametrize("config", ["%%%", base64.b64encode(b"no json").decode()])
def test_a_config_that_cannot_be_read_is_said_not_guessed(config: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        start_command({**PLAIN, "gcs_server": ["gcs_server", f"--config_list={config}"]})


def test_the_resources_that_prove_the_restart_are_those_it_had() -> None:
    assert resources_of(raylet(static_resource_list="CPU,2,my bar,3")) == {"CPU": 2.0, "my bar": 3.0}


def test_the_environment_is_that_of_the_person_without_what_ray_added() -> None:
    given = {"HOME": "/h", "RAY_CLIENT_MODE": "0", "LD_PRELOAD": "/env/ray/core/libjemalloc.so", "RAY_DEDUP_LOGS": "0"}
    assert environ_of_start(given) == {"HOME": "/h", "RAY_DEDUP_LOGS": "0"}
    assert environ_of_start({"LD_PRELOAD": "/opt/mine.so"}) == {"LD_PRELOAD": "/opt/mine.so"}


def test_a_spill_folder_outside_the_session_is_named_by_its_node() -> None:
    assert spill_folder(raylet(fallback_directory="/data/spill")) == "/data/spill/ray_spilled_objects_n1"
    assert spill_folder(raylet()) is None


def daemon(kind: DaemonKind, *words: str, **known: Any) -> Daemon:
    environ = known.pop("environ", None)
    return Daemon(kind=kind, identity=Identity(7, 7), start=DaemonStart(words, environ), **known)


def test_a_start_that_blocked_comes_back_and_says_who_else_waits_for_it() -> None:
    head = daemon("raylet", *raylet(), node="n1", environ={"HOME": "/h"})
    blocked = ("/x/bin/ray", "start", "--head", "--block")
    others = [daemon("client_server", "x"), daemon("gcs_server", "x")]
    (start,), unknown, warnings = starts_of([head, *others], {head.pid: (5, blocked)}, None)
    assert (start.argv, unknown) == (("/x/bin/ray", "start", "--head"), "")
    assert [words[:19] for words in warnings] == ["ray start --block e"]


def test_a_head_whose_gcs_was_gone_before_is_started_at_the_port_that_its_raylet_knows() -> None:
    head = daemon("raylet", *raylet(gcs_address="10.0.0.1:7123"), node="n1", environ={"HOME": "/h"})
    (start,), _, warnings = starts_of([head], {}, None)
    assert "--port=7123" in start.argv
    assert any("its GCS was gone before hangtop saw it" in words for words in warnings)


def test_what_a_restart_needs_is_kept_for_us_alone_and_its_command_is_shown_without_secrets() -> None:
    words = {"gcs_server": gcs(redis_password="s3cr3t"), "raylet": raylet()}
    told = [daemon(kind, *line, environ={"RAY_AUTH_TOKEN": "t0ken", "HOME": "/h"}) for kind, line in words.items()]
    (start,), _, _ = starts_of(told, {}, None)
    assert "--redis-password=***" in start.argv
    assert "s3cr3t" not in repr(start) + repr(told)
    assert "t0ken" not in repr(start) + repr(told)
    kept = Path(start.environ_file)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert launch_store.environ_of(start.environ_file) == {
        "RAY_AUTH_TOKEN": "t0ken",
        "HOME": "/h",
        "--redis-password": "--redis-password=s3cr3t",
    }


def test_without_the_environment_that_it_had_ray_is_not_started_again() -> None:
    """Its plan says that the environment is as it was."""
    assert starts_of([daemon("raylet", *raylet())], {}, None) == (
        (),
        "its options cannot be rebuilt: the environment of its raylet could not be read",
        (),
    )
