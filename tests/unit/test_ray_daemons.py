"""Which session and node each daemon is of, by its own words, else by the daemon above it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.ray.local.ray_processes import RayTable
from hangtop.probe.ray.ray_source import RaySource
from hangtop.records import wire
from hangtop.records.ray.cluster import RayReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.table import Stat

NOW = 1_768_125_000.0
BASE = 2**22
"""Of pids that no machine gives out."""
OUTER, INNER = "/tmp/ray/session_outer", "/tmp/ray/session_inner"


class WrittenTable:
    """A process table by number: parent's number and command line."""

    def __init__(self, processes: Mapping[int, tuple[int, str]]) -> None:
        self._words = {BASE + number: tuple(line.split()) for number, (_, line) in processes.items()}
        self.stats = {
            BASE + number: Stat(
                BASE + number, self._words[BASE + number][0].rpartition("/")[2], "S", BASE + above if above else 1, 1, 1, number
            )
            for number, (above, _) in processes.items()
        }

    def refresh(self, watched):
        pass

    def started_at(self, start_ticks):
        return NOW - 100

    def owner(self, pid):
        return 1000

    def command(self, pid):
        return self._words[pid]

    def cwd(self, pid):
        return ""

    environs: Mapping[str, str] = {}
    late = 0
    """So many times the environment is not told in time."""

    def environ(self, pid):
        self.late -= 1
        if self.late >= 0:
            raise TimeoutError
        return self.environs

    def open_files(self, pid):
        return ()


def raylet(folder: str, node: str) -> str:
    return f"/x/ray/core/src/ray/raylet/raylet --session-dir={folder} --node-id={node}"


@pytest.fixture
def parts():
    table = WrittenTable(
        {
            1: (0, raylet(OUTER, "a")),
            2: (1, f"python3 -u /x/ray/dashboard/agent.py --session-dir={OUTER}"),
            3: (1, "ray::RuntimeEnvAgent"),
            4: (1, "ray::Driver"),
            5: (4, f"python3 -u /x/ray/_private/log_monitor.py --session-dir={INNER}"),
            6: (4, raylet(INNER, "b")),
            7: (6, f"python3 -u /x/ray/dashboard/agent.py --session-dir={INNER}"),
        }
    )
    return {daemon.pid - BASE: daemon for daemon in RayTable(table).read(NOW).daemons}


def test_an_agent_whose_command_line_names_no_node_serves_that_of_the_raylet_above_it(parts):
    assert (parts[2].session, parts[2].node) == ("session_outer", "a")
    assert (parts[7].session, parts[7].node) == ("session_inner", "b")


def test_a_part_with_a_title_alone_has_session_and_node_of_the_raylet_above_it(parts):
    assert (parts[3].kind, parts[3].session, parts[3].node) == ("runtime_env_agent", "session_outer", "a")


def test_a_cluster_that_a_worker_of_another_started_has_none_of_its_nodes(parts):
    assert (parts[5].session, parts[5].node) == ("session_inner", None)


SECRETS = {"RAY_AUTH_TOKEN": "s3cr3t-1", "RAY_REDIS_PASSWORD": "s3cr3t-2", "WANDB_API_KEY": "s3cr3t-3", "HOME": "/home/s3cr3t-4"}


def test_neither_the_environment_nor_a_password_of_a_daemon_is_in_what_the_source_tells():
    table = WrittenTable({1: (0, f"{raylet(OUTER, 'a')} --redis-password=s3cr3t-5 --gcs-address=10.0.0.1:6379")})
    table.environs = SECRETS
    source = RaySource(ProbeContext(WatchSpec()), table)
    (reading,) = source.read(NOW)
    assert isinstance(reading, RayReading)
    assert [cluster.session for cluster in reading.clusters] == ["session_outer"]
    daemon = next(iter(source._here.daemons))
    assert daemon.start.environ == SECRETS, "a restart needs it"
    shown = wire.encode(Reading("ray", "here", NOW, reading)).decode() + repr(reading) + repr(source._here)
    assert "s3cr3t" not in shown
    source.close()


GCS = f"/x/ray/core/src/ray/gcs/gcs_server --log_dir={OUTER}/logs --session-name=session_outer"


@pytest.mark.parametrize("line", [raylet(OUTER, "a"), GCS], ids=["raylet", "gcs server"])
def test_an_environment_that_came_too_late_is_asked_for_again(line):
    """The token of the cluster stands in it."""
    table = WrittenTable({1: (0, line)})
    table.environs, table.late = SECRETS, 1
    found = RayTable(table)
    assert [daemon.start.environ for daemon in found.read(NOW).daemons] == [{}]
    (daemon,) = found.read(NOW + 2).daemons
    assert (daemon.start.environ, daemon.session) == (SECRETS, "session_outer")
