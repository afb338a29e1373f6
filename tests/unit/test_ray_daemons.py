"""Which session and node each daemon is of, by its own words, else by the daemon above it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hangtop.probe.ray.local.ray_processes import RayTable
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

    def environ(self, pid):
        return {}

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
