"""Whose a Ray session is: what proves it to be the run's, what does not, and what speaks against it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.facts.leftover_members import STOP
from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.members.ray_ownership import clusters_of_run, owned, rank_actors, said_of, strangers
from hangtop.records.log import LogFile, LogReading, RaySaid, RaySpeaker
from hangtop.records.process import Process, ProcessReading, RayTie, Writer
from hangtop.records.ray.cluster import RayActor, RayApi, RayCluster, RayDriver, RayJob, RayNode, RayPart, RayReading
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState, fold

NOW = 1_768_126_000.0
BEGAN = NOW - 3_600
"""2026-01-11 09:06:40 UTC, when the run's own session started; a day later the log of the run is looked at."""
NAME = "session_2026-01-11_09-06-40_000001_77"
FOLDER = f"/tmp/ray/{NAME}"
GCS, DASHBOARD = "10.0.0.1:6379", "10.0.0.1:8265"
DRIVER = 500
TIE = RayTie("drives", FOLDER, DRIVER, BEGAN + 60, 5_000, "python", "02000000")
JOINED = RaySaid(joined=GCS, dashboard=DASHBOARD, at=BEGAN + 61, stamp=BEGAN + 61)
"""The stamp as if it were UTC, as the name of the session above."""


def actor(pid: int, job: str = "02000000", **known: object) -> RayActor:
    plain = {"id": f"{pid}", "job": job, "ray_pid": pid, "pid": pid, "started_at": BEGAN + 70, "rank": pid % 10}
    return RayActor("WorkerDict", "running", **(plain | known))  # type: ignore[arg-type]


def cluster(session: str = NAME, began: float = BEGAN, **known: object) -> RayCluster:
    plain: dict[str, object] = {
        "folder": f"/tmp/ray/{session}",
        "addresses": (GCS, DASHBOARD),
        "api": RayApi(DASHBOARD, "ok"),
        "parts": (RayPart("raylet", 90, began, 9_000),),
        "actors": (actor(601), actor(602), actor(701, "03000000")),
    }
    return RayCluster(session, **(plain | known))  # type: ignore[arg-type]


def state(
    *clusters: RayCluster,
    ties: tuple[RayTie, ...] = (),
    said: RaySaid | None = None,
    alive: bool = True,
    profiles: tuple[str, ...] = ("gkd", "ray"),
    procs: ProcessReading | None = None,
    named: bool = False,
) -> RunState:
    """A run whose driver writes train.log, and the sessions of its machine."""
    writer = Writer(DRIVER, BEGAN + 60, "python", "python main.py", 5_000, alive=alive)
    driver = Process(DRIVER, BEGAN + 60, 5_000, 1, "python", "python main.py", "S")
    procs = procs or ProcessReading((writer,), processes=(driver,) if alive else (), ray=ties)
    log = LogReading((LogFile("/runs/train.log"),), last_output_at=NOW - 60, profiles=profiles, ray=said)
    found = RunState()
    for value in (log, procs, RayReading(clusters, named=named)):
        found = fold(found, Reading("x", "here", NOW, value))
    return found


def fact(of: RunState) -> str:
    (session,) = owned(of)
    return session.fact


def test_the_only_session_of_the_machine_is_not_the_run_s_for_that_even_where_the_framework_may_use_ray():
    alone = state(cluster())
    assert owned(alone) == ()
    assert clusters_of_run(alone) == ()
    assert rank_actors(alone) == {}
    assert [stranger.session for stranger in strangers(alone)] == [NAME]
    assert said_of(strangers(alone), NOW).startswith(f"1 Ray session on this machine, not this run's: {NAME}, since ")


@pytest.mark.parametrize(
    ("tie", "words"),
    [
        (TIE, "its driver, pid 500, writes train.log"),
        (replace(TIE, pid=501), "its driver, pid 501, is a process of the run"),
        (replace(TIE, kind="works"), "its worker, pid 500, is a process of the run"),
        (replace(TIE, kind="holds", job=""), "pid 500 of the run holds a file of its folder open"),
        (replace(TIE, kind="log", pid=0, job=""), "the log lies in its folder"),
        (replace(TIE, name=f"/other/view/of/{NAME}"), "its driver, pid 500, writes train.log"),
    ],
)
def test_a_process_of_the_run_that_holds_files_of_the_session_proves_it(tie: RayTie, words: str):
    assert fact(state(cluster(), ties=(tie,))) == words


def test_of_a_cluster_that_serves_many_only_the_run_s_own_jobs_are_looked_at():
    (own,) = clusters_of_run(state(cluster(), ties=(TIE,)))
    assert [worker.ray_pid for worker in own.actors] == [601, 602]
    assert own.actors_total == 2


def test_a_pid_is_a_process_only_with_its_start():
    driver = RayDriver("02000000", DRIVER, "node", "python main.py", local=True, started_at=BEGAN + 60)
    assert fact(state(cluster(drivers=(driver,)))) == "its driver, pid 500, writes train.log"
    for other in (replace(driver, started_at=BEGAN + 900), replace(driver, started_at=None), replace(driver, local=False)):
        assert owned(state(cluster(drivers=(other,)))) == ()
    reused = actor(DRIVER, started_at=BEGAN + 2_000)
    assert owned(state(cluster(actors=(reused,)))) == ()
    assert fact(state(cluster(actors=(replace(reused, started_at=BEGAN + 60),)))).startswith("its actor WorkerDict")
    assert (
        fact(state(cluster(parts=(RayPart("raylet", DRIVER, BEGAN + 60, 5_000),))))
        == "its raylet, pid 500, is a process of the run"
    )
    assert owned(state(cluster(parts=(RayPart("raylet", DRIVER, BEGAN + 60, 5_001),)))) == ()


def test_what_is_only_taken_for_the_run_and_what_ray_brought_into_it_prove_nothing():
    member = Process(601, BEGAN + 70, 6_010, 90, "ray::WorkerDict", "ray::WorkerDict", "S")
    assert fact(state(cluster(), procs=ProcessReading(processes=(member,))))
    assert owned(state(cluster(), procs=ProcessReading(processes=(member,), taken=(601,)))) == ()
    assert owned(state(cluster(), procs=ProcessReading(processes=(member,), of_ray=(601,)))) == ()


def test_the_person_s_word_counts():
    foreign = cluster("", parts=(), actors=(RayActor("WorkerDict", "running", ray_pid=1),))
    assert fact(state(foreign, named=True)) == "its address was given with --ray"
    assert len(clusters_of_run(state(foreign, named=True))[0].actors) == 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (JOINED, f"the log says that the run joined {GCS}"),
        (replace(JOINED, joined="head-node:6379"), f"the log names its dashboard {DASHBOARD}"),
        (RaySaid(sessions=(NAME,)), "the log names its session"),
        (
            RaySaid(started=True, dashboard=DASHBOARD, at=BEGAN + 20, stamp=BEGAN + 20),
            f"the log says that the run started it, with the dashboard at {DASHBOARD}",
        ),
        (RaySaid(speakers=(RaySpeaker("WorkerDict", 601, "", NOW - 70),)), "its actor WorkerDict, pid 601, speaks in the log"),
    ],
)
def test_the_log_of_a_run_whose_processes_are_gone_names_its_session(said: RaySaid, words: str):
    assert fact(state(cluster(), said=said, procs=ProcessReading())) == words


def test_a_job_that_was_submitted_is_told_by_its_id():
    supervisor = RayActor("JobSupervisor", "running", id="s", name="_ray_internal_job_actor_raysubmit_h3kQy", job="01000000")
    said = RaySaid(submission="raysubmit_h3kQy")
    assert fact(state(cluster(actors=(supervisor,)), said=said)) == "the log names its job raysubmit_h3kQy"
    assert owned(state(cluster(), said=said)) == ()


@pytest.mark.parametrize(
    "said",
    [
        replace(JOINED, joined="10.0.0.1:45107"),
        replace(JOINED, joined="192.0.2.2:6379", dashboard=None),
        replace(JOINED, at=BEGAN - 600),
        replace(JOINED, stamp=BEGAN - 600),
        replace(JOINED, at=None, stamp=None),
        RaySaid(started=True, dashboard=DASHBOARD, at=BEGAN + 7_200, stamp=BEGAN + 7_200),
        RaySaid(started=True, at=BEGAN + 20, stamp=BEGAN + 20),
        RaySaid(sessions=("session_2026-01-10_09-06-40_000001_12",)),
    ],
    ids=["port", "host", "before it", "before it by the log's clock", "no clock", "another start", "no address", "session"],
)
def test_another_address_session_or_time_in_the_log_means_none_of_these(said: RaySaid):
    alone = state(cluster(), said=said, procs=ProcessReading())
    assert owned(alone) == ()
    assert len(strangers(alone)) == 1


def test_pids_in_the_log_are_no_proof_against_the_address_in_it():
    speakers = (RaySpeaker("WorkerDict", 601, "", NOW - 70), RaySpeaker("WorkerDict", 602, "", NOW - 70))
    assert owned(state(cluster(), said=RaySaid(speakers=speakers), alive=False))
    assert owned(state(cluster(), said=replace(JOINED, joined="10.9.9.9:6379", speakers=speakers), alive=False)) == ()


@pytest.mark.parametrize(
    "speaker",
    [
        RaySpeaker("WorkerDict", 601, "", BEGAN + 10),
        RaySpeaker("TaskRunner", 601, "", NOW - 70),
        RaySpeaker("WorkerDict", 999, "", NOW - 70),
        RaySpeaker("WorkerDict", 601, "10.0.0.4", NOW - 70),
    ],
    ids=["before that worker lived", "another class", "another pid", "another node"],
)
def test_a_pid_in_the_log_is_a_worker_only_where_class_node_and_time_fit(speaker: RaySpeaker):
    workers = tuple(actor(pid, node="n") for pid in (601, 602))
    there = cluster(actors=workers, nodes=(RayNode("n", "n1", "10.0.0.1"),))
    assert owned(state(there, said=RaySaid(speakers=(speaker,)), procs=ProcessReading())) == ()


def test_one_pid_of_many_that_fits_may_be_chance():
    strangers_heard = tuple(RaySpeaker("WorkerDict", 900 + n, "", NOW - 70) for n in range(3))
    said = RaySaid(speakers=(*strangers_heard, RaySpeaker("WorkerDict", 601, "", NOW - 70)))
    assert owned(state(cluster(), said=said, procs=ProcessReading())) == ()


def test_where_the_log_alone_tells_only_the_job_whose_actors_speak_in_it_is_the_run_s():
    said = replace(JOINED, speakers=(RaySpeaker("WorkerDict", 601, "", NOW - 70),))
    (own,) = clusters_of_run(state(cluster(), said=said, procs=ProcessReading()))
    assert [worker.ray_pid for worker in own.actors] == [601, 602]
    (nobody,) = clusters_of_run(state(cluster(), said=JOINED, procs=ProcessReading()))
    assert nobody.actors == ()


def test_two_sessions_at_one_address_in_two_containers_are_not_told_apart_by_it():
    other = cluster("session_2026-01-11_09-06-41_000001_78", began=BEGAN + 1)
    assert owned(state(cluster(), other, said=JOINED, procs=ProcessReading())) == ()
    ended = replace(other, ended_at=NOW - 5)
    told = owned(state(cluster(), ended, said=JOINED, procs=ProcessReading()))
    assert [session.cluster.session for session in told if session.cluster.ended_at is None] == [NAME]


def test_an_address_of_the_machine_itself_in_a_log_that_another_machine_may_have_written_says_nothing():
    here = cluster(addresses=("127.0.0.1:6379",))
    told = state(here, said=replace(JOINED, joined="127.0.0.1:6379", dashboard=None), procs=ProcessReading())
    assert owned(told)
    log = replace(told.log, files=(LogFile("/home/ada/train.log", network="nfs4"),))
    assert owned(replace(told, log=log)) == ()


def test_a_process_of_the_run_is_surer_than_what_its_log_says_of_an_earlier_attempt():
    before = replace(JOINED, joined="10.9.9.9:6379")
    assert fact(state(cluster(), ties=(TIE,), said=before)) == "its driver, pid 500, writes train.log"


def test_what_was_seen_of_processes_that_are_gone_counts_while_nobody_writes_the_log():
    gone = replace(TIE, gone=True)
    assert fact(state(cluster(), ties=(gone,), alive=False)) == "its driver, pid 500, was of the run"
    assert owned(state(cluster(), ties=(gone,))) == (), "a new attempt writes: the old one's session is not its own"
    against = replace(JOINED, joined="10.9.9.9:6379")
    assert owned(state(cluster(), ties=(gone,), said=against, alive=False)) == ()


def test_an_environment_or_a_command_line_names_a_session_that_was_there_before():
    named = RayTie("environment", GCS, DRIVER, BEGAN + 60, 5_000)
    assert fact(state(cluster(), ties=(named,))) == f"the environment of pid 500 names {GCS}"
    word = replace(named, kind="argument", name=NAME)
    assert fact(state(cluster(), ties=(word,))) == f"the command line of pid 500 names {NAME}"
    for other in (replace(named, name="10.0.0.1:6380"), replace(named, name="head:6379"), replace(named, started_at=BEGAN - 60)):
        assert owned(state(cluster(), ties=(other,))) == ()
    assert owned(state(cluster(), ties=(named,), said=replace(JOINED, joined="10.9.9.9:6379"))) == ()


def test_an_inherited_environment_makes_no_run_on_ray_of_one_that_is_none():
    named = RayTie("environment", GCS, DRIVER, BEGAN + 60, 5_000)
    plain = state(cluster(), ties=(named,), profiles=("torchrun",))
    assert owned(plain)
    assert clusters_of_run(plain) == ()


def test_a_session_that_ended_is_the_one_it_lived_in():
    over = state(cluster(ended_at=NOW - 5), ties=(replace(TIE, gone=True),), alive=False)
    assert clusters_of_run(over) == ()
    assert [ended_cluster.session for ended_cluster in clusters_of_run(over, ended=True)] == [NAME]
    assert strangers(over) == ()


def gone(*drivers: RayDriver, said: RaySaid | None = None) -> RunState:
    """The driver is gone, two detached actors of its job are found through Ray, and the log names them."""
    spoke = (RaySpeaker("WorkerDict", 601, "", NOW - 70), RaySpeaker("WorkerDict", 602, "", NOW - 70))
    workers = tuple(Process(pid, BEGAN + 70, 6_010, 90, "ray::WorkerDict", "ray::WorkerDict", "S") for pid in (601, 602))
    there = cluster(
        api=RayApi(DASHBOARD, "ok", gcs_ok=True, actors_at=NOW),
        nodes=(RayNode("n", "n1", moved_at=NOW - 1, workers=3),),
        drivers=(RayDriver("03000000", 9, "n", "python other.py", local=True), *drivers),
    )
    procs = ProcessReading(processes=workers, of_ray=(601, 602))
    return state(there, said=said or replace(JOINED, speakers=spoke), procs=procs)


def test_a_run_whose_driver_is_gone_is_over_whatever_actors_outlive_it():
    verdict = diagnose(gone(), WatchSpec(logs=("/runs/train.log",), stall_s=30), NOW)
    assert (verdict.word, verdict.kind) == ("crashed", "dead_process")
    assert verdict.headline == "The driver is gone; 2 actors of its job live on."
    assert [fact.text for fact in verdict.evidence if fact.source == "left"] == [
        "2 processes are left: pid 601 ray::WorkerDict and 1 more"
    ]
    assert STOP in verdict.next


def test_a_driver_on_another_node_still_drives_its_run():
    elsewhere = RayDriver("02000000", 7, "m", "python main.py")
    assert diagnose(gone(elsewhere), WatchSpec(logs=("/runs/train.log",), stall_s=30), NOW).word != "crashed"
    assert diagnose(gone(said=RaySaid(joined="10.9.9.9:6379")), WatchSpec(stall_s=30), NOW).word != "crashed"


def test_actors_that_a_dead_driver_left_are_the_run_s_where_their_job_began_when_the_log_says_that_it_joined():
    said = RaySaid(joined=GCS, at=BEGAN + 70)
    jobs = (RayJob("02000000", BEGAN + 70.2), RayJob("03000000", BEGAN + 400))

    def pids(*past: RayJob) -> set[int | None]:
        (own,) = owned(state(cluster(past_jobs=past), said=said, alive=False))
        return {actor.pid for actor in own.cluster.actors}

    assert pids(*jobs) == {601, 602}
    assert pids(RayJob("02000000", BEGAN + 74)) == {601, 602}, "a busy machine"
    assert pids(RayJob("02000000", BEGAN + 60)) == set(), "it had begun before"
    assert pids(jobs[1]) == set()
    assert pids(jobs[0], RayJob("03000000", BEGAN + 71)) == set(), "two began then"
