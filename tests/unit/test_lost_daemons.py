"""A daemon of Ray is lost when neither GCS nor raylet of its session lives here: told by command lines and open logs."""

from __future__ import annotations

import pytest

from hangtop.probe.leftovers.orphans import is_daemon, lost_daemons
from hangtop.system.processes.table import OpenFile

A, B = "/tmp/ray/session_2026-01-10_08-00-00_1_5", "/data/r/session_2026-01-10_09-00-00_1_6"
CLIENT = ("python", "-m", "ray.util.client.server", "--address=127.0.0.1:6379")
MONITOR = ("python", "-u", "/x/ray/_private/log_monitor.py", f"--session-dir={A}", f"--logs-dir={A}/logs")
AGENT = ("ray::DashboardAgent",)
GCS = ("/x/ray/core/src/ray/gcs/gcs_server", "--gcs_server_port=6379", "--node-ip-address=127.0.0.1", f"--log_dir={A}/logs")
RAYLET = ("/x/ray/core/src/ray/raylet/raylet", f"--session_dir={A}", "--gcs-address=127.0.0.1:6379")
OTHER = ("/x/ray/core/src/ray/raylet/raylet", f"--session_dir={B}", "--gcs-address=127.0.0.1:6379")


def log_in(folder: str) -> tuple[OpenFile, ...]:
    return (OpenFile(1, f"{folder}/logs/ray_client_server.out", writable=True),)


@pytest.mark.parametrize(
    ("command", "held", "leading", "lost"),
    [
        pytest.param(MONITOR, (), (), True, id="nobody leads"),
        pytest.param(MONITOR, (), (RAYLET,), False, id="a raylet of its session lives"),
        pytest.param(MONITOR, (), (GCS,), False, id="a GCS of its session lives"),
        pytest.param(MONITOR, (), (OTHER,), True, id="a raylet of another session lives"),
        pytest.param(CLIENT, (), (RAYLET,), False, id="a raylet at its address lives"),
        pytest.param(CLIENT, (), (OTHER,), False, id="which session it is of is not known, and one lives at its address"),
        pytest.param(CLIENT, log_in(A), (OTHER,), True, id="its log tells that it is of another session"),
        pytest.param(CLIENT, log_in(A), (), True, id="its log tells its session"),
        pytest.param(AGENT, log_in(A), (), True, id="a title without options"),
        pytest.param(AGENT, (), (), False, id="nothing tells what it belongs to"),
        pytest.param(RAYLET, (), (), False, id="one that leads itself"),
        pytest.param(GCS, (), (), False, id="a GCS alone is a cluster"),
    ],
)
def test_it_is_lost_when_nobody_leads_its_session(command, held, leading, lost):
    assert is_daemon(command)
    assert lost_daemons({7: command}, {7: held}, leading) == ({7} if lost else set())


@pytest.mark.parametrize("command", [(), ("vim", "train.py"), ("python", "train.py", "--ray"), ("ray::WorkerDict",)])
def test_other_programs_are_no_daemons(command):
    assert not is_daemon(command)
