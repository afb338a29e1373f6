"""Whose Ray sessions the pane shows: the run's own, and of others no more than how many there are."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.model import RunState, fold
from hangtop.panes.ray_sessions import clusters_shown, nothing, other_lines
from hangtop.panes.view import View
from hangtop.records.log import LogFile, LogReading
from hangtop.records.process import Process, ProcessReading
from hangtop.records.ray import RayCluster, RayPart, RayReading
from hangtop.records.reading import Reading
from hangtop.records.verdict import Verdict
from hangtop.spec import WatchSpec
from tests.unit.test_ray_rules import NOW, cluster, worker


def view(*clusters: RayCluster, framework: str = "generic", spec: WatchSpec | None = None, pids: tuple[int, ...] = ()) -> View:
    log = LogReading((LogFile("train.log", "ok", 10, 10, 1, NOW - 1),), last_output_at=NOW - 1, framework=framework)
    procs = ProcessReading(tuple(Process(pid, 0.0, 0, 1, "python", "python train.py", "S") for pid in pids))
    state = RunState()
    for value in (log, procs, RayReading(clusters)):
        state = fold(state, Reading("x", "host", NOW, value))
    return View(state, Verdict("ok", "", ""), spec or WatchSpec(), NOW)


def said(rows) -> list[str]:
    return ["".join(text for text, _ in row).rstrip() for row in rows]


FOREIGN = cluster(session="session_b", actors=(worker(0, "train", pid=900),), actors_total=1)
OWN = cluster(session="session_a", actors=(worker(0, "train"),), actors_total=1)


def test_a_foreign_cluster_is_no_cluster_of_a_run_without_ray():
    found = view(FOREIGN)
    assert clusters_shown(found) == ()
    assert said([nothing(found)]) == ["none: this run does not use Ray (1 Ray session on this machine, not this run's)"]


def test_a_foreign_cluster_beside_the_run_s_own_is_one_line():
    found = view(OWN, FOREIGN, pids=(100,))
    shown = clusters_shown(found)
    assert [one.session for one in shown] == ["session_a"]
    assert said(other_lines(found, shown, 80)) == ["1 other Ray session on this machine, not this run's"]


def test_a_run_on_ray_that_no_session_can_be_told_to_be_of_asks_for_the_address():
    found = view(OWN, FOREIGN, framework="verl")
    assert clusters_shown(found) == ()
    assert "none has a process of this run: name its own with --ray HOST:PORT" in said([nothing(found)])[0]


def test_the_cluster_whose_address_was_given_is_shown_whatever_it_shares_with_the_run():
    assert clusters_shown(view(FOREIGN, spec=WatchSpec(ray="10.0.0.1:8265"))) == (FOREIGN,)


def test_the_run_s_cluster_is_still_shown_when_it_has_ended():
    ended = replace(OWN, ended_at=NOW - 5)
    assert clusters_shown(view(ended, FOREIGN, pids=(100,))) == (ended,)
    assert clusters_shown(view(replace(FOREIGN, ended_at=NOW - 5), pids=(100,))) == ()


def test_a_cluster_that_was_started_after_the_last_word_of_a_log_that_nobody_writes_is_not_of_its_run():
    later = replace(OWN, parts=(RayPart("raylet", 7, NOW + 60),))
    sooner = replace(OWN, parts=(RayPart("raylet", 7, NOW - 60),))
    assert clusters_shown(view(sooner, framework="verl")) == (sooner,)
    assert clusters_shown(view(later, framework="verl")) == ()
