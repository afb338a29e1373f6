"""Workers of Ray that have not come up, parts of Ray that are sick beside a run that lives, and whose death a crash was."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.facts.ray_health import troubles
from hangtop.diagnosis.facts.ray_pending import lacking, pending_resources, starting_actors
from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.members.ray_deaths import failed_worker
from hangtop.diagnosis.members.ray_hosts import host_names, near
from hangtop.probe.ray.actor_records import FirstSeen, Since, _began, death_of
from hangtop.probe.ray.dashboard.api_schema import Actor, CoreStats, StateRow
from hangtop.probe.ray.dashboard.poll import ApiView
from hangtop.probe.ray.local.daemons import Daemon, DaemonStart, missing_daemons
from hangtop.probe.ray.local.worker_starts import WorkerStarts
from hangtop.records.log import Finding, LogFile, LogReading, RankLog
from hangtop.records.ray.cluster import Death, RayActor, RayApi, RayCluster, RayNode, RayPart, RayReading
from hangtop.records.reading import Reading
from hangtop.records.verdict import Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold
from hangtop.system.processes.table import Identity, Stat
from tests.fakes.members import BUSY, process, run
from tests.fakes.members import NOW as AT
from tests.fakes.read_log import read
from tests.unit.test_ray_calls import IDLE, TRAINER, at, idle, on_ray, worker

NOW = 1_768_125_000.0
HEALTHY = RayApi("127.0.0.1:8265", "ok", NOW - 60, True, NOW - 60, NOW - 1, version="2.60.0")
NODE = RayNode("n" * 56, "n1", ip="10.0.0.1", moved_at=NOW - 3, head=True, local=True, used={"CPU": 1.0}, total={"CPU": 16.0})
WAITS = RayActor("Worker", "resources", id="a", resources={"CPU": 0.1}, since=NOW - 500, since_seen=False)


def cluster(**known: object) -> RayCluster:
    return RayCluster(**{"session": "session_x", "api": HEALTHY, "nodes": (NODE,)} | known)


def quiet(ray: RayCluster, silence_s: float = 600.0) -> RunState:
    log = LogReading(files=(LogFile("train.log", size_bytes=9),), last_output_at=NOW - silence_s, profiles=("ray",))
    state = RunState()
    for value in (log, RayReading((ray,), named=True)):
        state = fold(state, Reading("test", "n1", NOW, value))
    return state


def verdict(state: RunState, now: float = NOW) -> Verdict:
    return diagnose(state, WatchSpec(logs=("train.log",)), now)


def test_an_actor_whose_resources_are_free_waits_for_its_worker_and_not_for_them():
    ray = cluster(actors=(WAITS,))
    assert pending_resources(ray) == ()
    assert starting_actors(ray) == (WAITS,)


def test_resources_that_are_free_on_different_nodes_are_lacking():
    nodes = (replace(NODE, used={"CPU": 16.0, "GPU": 0.0}, total={"CPU": 16.0, "GPU": 8.0}), NODE)
    assert lacking({"CPU": 4.0, "GPU": 2.0}, nodes) == ("no node has CPU 4, GPU 2 free at once", False)


@pytest.mark.parametrize(
    ("moved_s", "word"),
    [(5.0, "slow"), (59.0, "slow"), (400.0, "waiting")],
    ids=["just now", "as long as Ray gives it", "long ago"],
)
def test_workers_that_come_up_are_slow_and_none_for_long_is_waiting(moved_s, word):
    up = RayActor("Worker", "idle", id="b", pid=5, started_at=NOW - 580)
    said = verdict(quiet(cluster(actors=(WAITS, up), starting_at=NOW - moved_s)))
    assert said.word == word
    assert said.headline.startswith("Worker waits for worker processes")
    assert "1 of 2 actors of this kind have a process" in {fact.text for fact in said.evidence}


def test_what_ray_starts_is_below_a_raylet_and_has_no_title():
    table, starts = (
        SimpleNamespace(
            stats={
                10: Stat(10, "raylet", "S", 1, 10, 10, 1),
                11: Stat(11, "python", "R", 10, 10, 10, 2, cpu_ticks=5),
                12: Stat(12, "ray::Worker", "S", 10, 10, 10, 3, cpu_ticks=9),
                13: Stat(13, "python", "S", 12, 10, 10, 4, cpu_ticks=9),
            }
        ),
        WorkerStarts(),
    )
    assert starts.moved(table, [10], {12: False}, 100.0) == {10: 100.0}
    assert starts.moved(table, [10], {12: False}, 102.0) == {10: 100.0}
    table.stats = {**table.stats, 12: replace(table.stats[12], cpu_ticks=99), 13: replace(table.stats[13], cpu_ticks=99)}
    assert starts.moved(table, [10], {12: False}, 104.0) == {10: 100.0}, "those at work are no start"
    table.stats = {**table.stats, 11: replace(table.stats[11], cpu_ticks=6)}
    assert starts.moved(table, [10], {12: False}, 106.0) == {10: 106.0}


def test_a_stopped_gcs_beside_workers_that_go_on_is_no_hang():
    ray = replace(cluster(parts=(RayPart("gcs_server", 42, 1.0, state="T"),)), session="session_2026-01-10_08-00-00_1_5")
    lives = on_ray({0: idle(), 1: at("Worker.update", state="R")}, TRAINER, worker(1, "Worker.update", BUSY))
    stands = on_ray({0: idle(), 1: at("Worker.update")}, TRAINER, worker(1, "Worker.update", IDLE))
    said = [verdict(replace(state, ray={"": RayReading((ray,), named=True)}), AT) for state in (lives, stands)]
    assert [each.word for each in said] == ["running", "hung"]
    assert all("the GCS (pid 42) is stopped" in each.headline for each in said)
    assert all(each.detail == "What mends it: kill -CONT 42" for each in said)


def test_a_run_that_writes_on_is_told_what_ails_its_ray():
    said = verdict(quiet(cluster(parts=(RayPart("gcs_server", 42, 1.0, state="T"),)), silence_s=1.0))
    assert said.word == "running"
    assert said.evidence[0].text == "Ray is sick: the GCS (pid 42) is stopped"


def test_a_loss_that_ray_reports_is_told_by_the_part_that_is_gone():
    state = quiet(cluster(parts=(RayPart("raylet", 43, 1.0, node="n", gone_at=NOW - 9),)), silence_s=1.0)
    lost = Finding("ray.actor_died", "fatal", "summary", 0, "ActorUnavailableError: The actor is unavailable", hang="crash")
    said = verdict(replace(state, log=replace(state.log, findings=(lost,))))  # type: ignore[type-var]
    assert said.word == "crashed"
    assert said.headline.startswith("Ray is sick: the raylet (pid 43) is gone since")
    assert said.headline.endswith("ActorUnavailableError: The actor is unavailable.")


def test_who_said_first_that_the_gcs_is_gone_is_not_its_cause():
    state = quiet(cluster(parts=(RayPart("gcs_server", 42, 1.0, gone_at=NOW - 70),)), silence_s=1.0)
    lost = Finding("ray.gcs_unreachable", "fatal", "cause", 0, "Failed to connect to GCS within 60 seconds", hang="crash", rank=1)
    said = verdict(replace(state, log=replace(state.log, findings=(lost,))))  # type: ignore[type-var]
    assert said.word == "crashed"
    assert said.headline.startswith("Ray is sick: the GCS (pid 42) is gone since")
    assert said.culprits == ()


def test_a_daemon_that_was_gone_before_is_missed():
    head = Daemon(kind="raylet", identity=Identity(1, 1), start=DaemonStart(("raylet", "--head")))
    gcs = Daemon(kind="gcs_server", identity=Identity(2, 2))
    assert missing_daemons([head]) == ("gcs_server",)
    assert missing_daemons([gcs]) == ("raylet",)
    assert missing_daemons([head, gcs]) == ()
    assert missing_daemons([head, replace(gcs, gone_at=9.0)]) == (), "that is told by itself"
    assert missing_daemons([replace(head, start=DaemonStart(("raylet",)))]) == (), "a node without the head"
    (trouble,) = troubles(cluster(missing=("gcs_server",)), NOW)
    assert (trouble.part, trouble.dead) == ("gcs_server", True)


def test_a_call_that_began_later_than_was_thought_is_another_one():
    seen = FirstSeen()
    assert seen.since("a", "update", 100.0) == (since := seen.since("a", "update", 100.0))
    assert (since.at, since.seen) == (100.0, True)
    seen.turn()
    assert seen.since("a", "update", 110.0, began_at=60.0).at == 60.0, "Ray knows when it began"
    seen.turn()
    assert seen.since("a", "update", 120.0, began_at=118.5).at == 118.5, "it ended, and began again"


OOM = (
    "Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.0.0.1, ID: 3a) where the task (actor "
    "ID: 7) was running was 9.27GB / 9.10GB (1.018), which exceeds the memory usage threshold of 0.95."
)


def test_the_reason_of_a_death_is_told_with_its_figures():
    row = StateRow("a", death_cause={"oom_context": {"error_message": OOM, "fail_immediately": False}})
    assert "9.27GB / 9.10GB" in death_of(row.death_words).cause
    assert StateRow("a", death_cause=None).death_words == ""


LOW = f"""1 worker(s) were killed due to the node running low on memory.
Memory on the node (IP: 192.0.2.2, ID: {"4055ab87" * 7}) was 7.14GB used / 23.54GB limit (0.303125)
OOM kill reason: Memory usage 7646806016B exceeded threshold of 7582950912B
"""
NO_ENVIRONMENT = """Could not create the actor because its associated runtime env failed to be created.
[Node 192.0.2.2] Traceback (most recent call last):
  File "/usr/lib/python3.11/asyncio/tasks.py", line 489, in wait_for
    return fut.result()
Last 50 lines of stdout:
    ERROR: No matching distribution found for nowhere-to-be-found==9.9
"""


def test_a_death_is_told_in_its_first_two_sentences_and_a_failed_environment_by_its_last_line():
    memory = "Memory on the node (IP: 192.0.2.2) was 7.14GB used / 23.54GB limit (0.303125)"
    assert death_of(LOW).cause == f"1 worker(s) were killed due to the node running low on memory. {memory}"
    failed = death_of(NO_ENVIRONMENT)
    assert failed.cause == "its runtime environment could not be made"
    assert failed.detail == "ERROR: No matching distribution found for nowhere-to-be-found==9.9"
    actor = RayActor("Learner", "dead", id="a", since=NOW - 9, death=failed)
    assert failed_worker(quiet(cluster(actors=(actor,))), Finding("x", "fatal", "cause", 0, "x")) == ()


def test_a_crash_names_the_worker_of_ray_s_message_else_the_actor_that_died_first():
    dead = RayActor("Worker", "dead", id="a", ray_pid=77, rank=3, since=NOW - 9, death=Death("its process ended: SYSTEM_ERROR"))
    later = replace(dead, id="b", ray_pid=78, rank=4, since=NOW - 5)
    meant = replace(dead, id="c", ray_pid=79, rank=5, since=NOW - 20, death=Death("killed by ray.kill", intended=True))
    state = quiet(cluster(actors=(later, meant, dead)))
    finding = Finding("ray.actor_died", "fatal", "cause", 0, "The actor died")
    assert [culprit.rank for culprit in failed_worker(state, finding)] == [3]
    assert [culprit.rank for culprit in failed_worker(state, replace(finding, pid=78))] == [4]
    assert [(culprit.rank, culprit.pid) for culprit in failed_worker(state, replace(finding, pid=99))] == [(None, 99)]


def test_addresses_of_one_node_are_one_node_and_a_pid_belongs_to_its_machine():
    away = RayNode("m" * 56, "n2", ip="10.0.0.2")
    state = quiet(cluster(nodes=(NODE, away)))
    assert host_names(state) == {"10.0.0.1": "n1", "10.0.0.2": "n2"}
    logs = [RankLog(0, pid=5), RankLog(1, pid=6, host="10.0.0.2"), RankLog(2, pid=7, host="n2"), RankLog(3, pid=8, host="n1")]
    assert [log.rank for log in near(state, logs)] == [0, 3]


NESTED = """Traceback (most recent call last):
  File "/home/me/job.py", line 82, in main
    ray.get(Trainer.remote().run.remote())
ray.exceptions.RayTaskError(ModuleNotFoundError): \x1b[36mray::Trainer.run()\x1b[39m (pid=24581, ip=192.0.2.2)
  File "/home/me/job.py", line 73, in run
    ray.get([w.update.remote(step) for w in ws])
ray.exceptions.RayTaskError(ModuleNotFoundError): \x1b[36mray::Worker.update()\x1b[39m (pid=24822, ip=192.0.2.2)
  File "/home/me/job.py", line 39, in update
    import numpy as np
ModuleNotFoundError: No module named 'numpy'
"""
IGNORED = """(Worker pid=25004) Exception ignored in: <function ActorHandle.__del__ at 0x7f8cc15c1e40>
(Worker pid=25004) Traceback (most recent call last):
(Worker pid=25004)   File "/venv/lib/python3.11/site-packages/ray/actor.py", line 2467, in __del__
(Worker pid=25004)     def __del__(self):
(Worker pid=25004) SystemExit: 1
"""


def test_the_place_of_a_wrapped_error_is_its_own_and_an_ignored_one_takes_no_place():
    findings = {finding.id: finding for finding in read(NESTED + IGNORED).findings}
    assert findings["env.module_missing"].text == "ModuleNotFoundError: No module named 'numpy'"
    trace = findings["py.traceback"]
    assert trace.groups["own"] == "/home/me/job.py:39 in update"
    assert trace.pid == 24822
    assert "SystemExit" not in trace.text


def test_a_wrapped_loss_of_an_actor_is_told_by_its_own_line():
    lost = "ray.exceptions.ActorUnavailableError: The actor 3f is unavailable: the node is dead. The task may or may not have run"
    wrapped = f"ray.exceptions.RayTaskError(ActorUnavailableError): ray::Trainer.run() (pid=12, ip=10.0.0.1)\n{lost}\n"
    findings = {finding.id: finding for finding in read(f"Traceback (most recent call last):\n{wrapped}").findings}
    assert findings["ray.actor_died"].text.startswith("ray.exceptions.ActorUnavailableError: The actor 3f is unavailable")


NO_PACKAGE = """(TaskRunner pid=12) Training from scratch
Traceback (most recent call last):
  File "/home/me/job.py", line 70, in <module>
    print(ray.get(tr.run.remote()), flush=True)
ray.exceptions.RayTaskError(RuntimeEnvSetupError): ray::TaskRunner.run() (pid=12, ip=192.0.2.2, actor_id=77f, repr=<…>)
  File "/home/me/job.py", line 58, in run
    ray.get([w.update_actor.remote(step) for w in ws])
ray.exceptions.RuntimeEnvSetupError: Failed to set up runtime environment.
Could not create the actor because its associated runtime env failed to be created.
[Node 192.0.2.2] Traceback (most recent call last):
  File "/usr/lib/python3.11/asyncio/tasks.py", line 489, in wait_for
    return fut.result()
ray._private.runtime_env.utils.SubprocessCalledProcessError: Run cmd[27] failed with the following details.
Command '['/tmp/ray/session_x/virtualenv/bin/python', '-m', 'pip', 'install']' returned non-zero exit status 1.
Last 50 lines of stdout:
    Looking in links: /srv/wheels
    ERROR: Could not find a version that satisfies the requirement nowhere-to-be-found==9.9 (from versions: none)
    ERROR: No matching distribution found for nowhere-to-be-found==9.9
"""


def test_an_environment_that_could_not_be_made_is_told_by_the_innermost_error():
    found = read(NO_PACKAGE).findings
    assert (found[0].id, found[0].role) == ("env.pip_no_package", "cause")
    assert found[0].text == "ERROR: No matching distribution found for nowhere-to-be-found==9.9"
    (wrapped,) = (finding for finding in found if finding.id == "ray.runtime_env")
    assert wrapped.text == "ray.exceptions.RuntimeEnvSetupError: Failed to set up runtime environment."


HEAD = "[rank3] (Learner pid=77) up\n"
SEGFAULT = """(Learner pid=77) step 2
(raylet) A worker died or was killed while executing a task by an unexpected system error. Worker ID: 1a Worker PID: {pid}
(Learner pid=77) Fatal Python error: Segmentation fault
(Learner pid=77)
(Learner pid=77) Stack (most recent call first):
(Learner pid=77)   File "/home/me/job.py", line 28 in update
"""


@pytest.mark.parametrize(
    ("pid", "head", "first"), [(77, HEAD, "proc.sigsegv"), (77, "", "proc.sigsegv"), (78, HEAD, "ray.worker_died")]
)
def test_what_a_worker_said_of_its_own_death_says_more_than_the_raylet_that_missed_it(pid, head, first):
    found = read(head + SEGFAULT.format(pid=pid)).findings
    assert found[0].id == first


def test_an_actor_that_was_lost_soon_after_its_raylet_died_was_lost_with_it():
    died = Finding("ray.node_died", "hint", "cause", 500, "Raylet is terminated. Termination is unexpected", survived=True)
    lost = Finding("ray.actor_died", "fatal", "summary", 9_000, "ActorUnavailableError: The actor is unavailable", hang="crash")
    state = quiet(cluster(), silence_s=5.0)

    def headline(*findings: Finding) -> str:
        return verdict(replace(state, log=replace(state.log, findings=findings))).headline  # type: ignore[type-var]

    assert headline(lost, died).startswith("Raylet is terminated")
    assert headline(replace(lost, offset=900_000), died).startswith("ActorUnavailableError")
    assert headline(replace(lost, role="cause"), died).startswith("ActorUnavailableError")


def test_a_stopped_gcs_beside_ranks_that_write_into_their_own_files_is_no_hang():
    state = quiet(cluster(parts=(RayPart("gcs_server", 42, 1.0, state="T"),)))
    writing = {0: RankLog(0, step=40, last_at=NOW - 1), 1: RankLog(1, step=40, last_at=NOW - 400)}
    said = [verdict(replace(state, ranks=ranks)) for ranks in (writing, {1: writing[1]})]
    assert [each.word for each in said] == ["running", "hung"]
    assert "rank 0 writes on, into files of their own" in {fact.text for fact in said[0].evidence}
    assert "What mends it: kill -CONT 42" in {fact.text for fact in said[0].evidence}


def test_a_raylet_that_ended_says_so_in_the_log():
    said = "(raylet) Raylet is terminated. Termination is unexpected. Possible reasons include: (1) SIGKILL by the user"
    assert [finding.id for finding in read(said + "\n").findings] == ["ray.node_died"]


def test_a_plain_run_has_nothing_of_ray():
    state = run({0: idle()}, (process(0),))
    assert host_names(state) == {}
    assert failed_worker(state, Finding("x", "fatal", "cause", 0, "x")) == ()


def test_since_when_an_actor_is_constructed_is_what_ray_says_and_not_when_hangtop_came() -> None:
    actor = Actor(actor_id="a1", state="PENDING_CREATION")
    view = ApiView(built_since={"a1": 50.0}, asked_since={"a1": 40.0})
    began_at = _began(actor, "constructing", CoreStats(), view)
    assert FirstSeen().since("a1", "constructing", 300.0, began_at) == Since(50.0, seen=False)
    assert _began(actor, "constructing", CoreStats(), ApiView()) is None
