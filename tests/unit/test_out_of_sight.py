"""Processes that cannot be seen at all, by a container or by /proc itself, are said by the source they concern."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.sources_seen import CONTAINED, sources_seen
from hangtop.monitor.headless import ray_looked
from hangtop.probe.processes.log_writers import HIDDEN
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile, LogReading
from hangtop.records.process import ProcessReading, RayTie
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState
from hangtop.system.processes.out_of_sight import hides_others

NOW = 1_768_125_000.0
LOG = LogReading(files=(LogFile("train.log", size_bytes=9),), last_output_at=NOW - 600)
PROC = "24 29 0:22 / /proc rw,nosuid - proc proc rw"


def state(procs: ProcessReading, log: LogReading = LOG) -> RunState:
    health = {name: SourceHealth(name, read_at=NOW) for name in ("log", "procs")}
    return RunState(log=log, procs=procs, health=health)


@pytest.mark.parametrize(
    ("mounts", "hides"),
    [
        (PROC, False),
        (f"{PROC},hidepid=invisible", True),
        (f"{PROC},gid=4,hidepid=2", True),
        (f"{PROC},hidepid=noaccess", False),
        (f"{PROC}\n31 24 0:40 / /proc rw - proc proc rw,hidepid=4", True),
        (f"{PROC},hidepid=2\n31 24 0:40 / /proc rw - proc proc rw", False),
        ("24 29 0:22 / /srv/proc rw - proc proc rw,hidepid=2", False),
        ("", False),
    ],
)
def test_whether_proc_leaves_out_the_processes_of_others(mounts: str, hides: bool) -> None:
    assert hides_others(mounts) is hides


def test_of_a_run_whose_processes_may_not_be_listed_nobody_says_that_it_died() -> None:
    seen = state(ProcessReading(note=HIDDEN))
    said = diagnose(seen, WatchSpec(logs=("train.log",)), NOW)
    assert (said.word, said.confidence, said.kind) == ("stalled", "possible", "unknown")
    assert HIDDEN in {fact.text for fact in said.evidence}
    assert sources_seen(seen, NOW)["procs"].problem == HIDDEN


def test_in_a_container_it_is_said_that_the_writer_may_be_outside() -> None:
    assert sources_seen(state(ProcessReading(contained=True)), NOW)["procs"].problem == CONTAINED
    assert sources_seen(state(ProcessReading()), NOW)["procs"].problem is None


def test_a_run_on_ray_is_judged_after_ray_was_looked_at() -> None:
    on_ray = state(ProcessReading(), LogReading(files=LOG.files, last_output_at=NOW, profiles=("verl", "ray")))
    unread = RunState(log=on_ray.log, procs=on_ray.procs, health={**on_ray.health, "ray": SourceHealth("ray")})
    assert not ray_looked(unread)
    driver = replace(
        unread, log=LOG, procs=ProcessReading(ray=(RayTie("drives", "/tmp/ray/session_x", 7, 1.0, 7, "python", "01"),))
    )
    assert not ray_looked(driver), "its log names no Ray, and its driver holds files of a session"
    assert ray_looked(RunState(log=on_ray.log, health={**on_ray.health, "ray": SourceHealth("ray", absent="none here")}))
    assert ray_looked(state(ProcessReading()))
