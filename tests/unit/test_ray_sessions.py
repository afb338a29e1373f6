"""Whose Ray sessions the pane shows: the run's own, and of others no more than how many there are."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.records.log import LogFile, LogReading
from hangtop.records.process import Process, ProcessReading
from hangtop.records.ray.cluster import RayCluster, RayDriver, RayPart, RayReading
from hangtop.records.reading import Reading
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.ray.ray_lines import clusters_shown, nothing, other_lines, session_table
from hangtop.render.view import View
from hangtop.state.run_state import RunState, fold
from tests.unit.test_ray_rules import NOW, cluster, worker


def view(
    *clusters: RayCluster, profiles: tuple[str, ...] = (), spec: WatchSpec | None = None, pids: tuple[int, ...] = ()
) -> View:
    log = LogReading((LogFile("train.log", "ok", 10, 10, 1, NOW - 1),), last_output_at=NOW - 1, profiles=profiles)
    procs = ProcessReading(processes=tuple(Process(pid, SINCE, 0, 1, "python", "python train.py", "S") for pid in pids))
    state = RunState()
    for value in (log, procs, RayReading(clusters)):
        state = fold(state, Reading("x", "host", NOW, value))
    return View(state, Verdict("ok", "", ""), spec or WatchSpec(), NOW)


def said(rows) -> list[str]:
    return ["".join(text for text, _ in row).rstrip() for row in rows]


SINCE = NOW - 600
FOREIGN = cluster(session="session_b", user="bob", actors=(worker(0, "train", pid=900, started_at=SINCE),), actors_total=1)
OWN = cluster(session="session_a", actors=(worker(0, "train", started_at=SINCE),), actors_total=1)


def test_a_session_without_proof_is_only_counted_with_whose_it_is():
    found = view(FOREIGN, profiles=("verl", "ray"))
    assert clusters_shown(found) == ()
    assert said([nothing(found)]) == ["1 Ray session on this machine, not this run's: session_b of bob"]
    assert said([nothing(view(FOREIGN, OWN))]) == ["2 Ray sessions on this machine, not this run's: session_b of bob and 1 more"]


def test_a_foreign_cluster_beside_the_run_s_own_is_one_line():
    found = view(OWN, FOREIGN, pids=(100,))
    shown = clusters_shown(found)
    assert [shown_cluster.session for shown_cluster in shown] == ["session_a"]
    assert said(other_lines(found, shown, 80)) == ["1 other Ray session on this machine, not this run's"]


def test_the_run_s_cluster_is_still_shown_when_it_has_ended():
    ended = replace(OWN, ended_at=NOW - 5)
    assert clusters_shown(view(ended, FOREIGN, pids=(100,))) == (ended,)
    assert clusters_shown(view(replace(FOREIGN, ended_at=NOW - 5), pids=(100,))) == ()


def test_the_list_of_sessions_tells_user_start_nodes_and_what_the_driver_was_started_with():
    driver = RayDriver("01", 5, "node", "python main.py", local=True)
    foreign = replace(FOREIGN, parts=(RayPart("raylet", 7, SINCE),), drivers=(driver, driver))
    heads, (row,) = session_table((foreign,), NOW, 120)
    assert said([heads])[0].split() == ["session", "user", "started", "nodes", "state", "driver"]
    cells = said([row])[0].split()
    assert cells[:2] == ["session_b", "bob"]
    assert " ".join(cells[3:]) == "1 alive python main.py and 1 more"
