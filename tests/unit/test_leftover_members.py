"""What a run that ended has left behind: named with what it holds, and only what is its own."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.facts.leftover_members import CLEAN, STOP, leftovers, with_leftovers
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading, NodeGpus
from hangtop.records.plan import LeftoversReading, Removal
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.records.verdict import Verdict
from hangtop.state.run_state import RunState

G = 2**30
WRITER = Writer(pid=7, started_at=1_000.0, name="python", command="python train.py", alive=False, gone_at=2_000.0)
ENGINE = Process(90, 1_100.0, 90, 1, "VLLM::EngineCore", "VLLM::EngineCore", "S", "engine core", rss_bytes=6 * G)
FINISHED = Verdict(word="finished", headline="The run finished.", refute="")


def ended(*stayed: Process, orphans: tuple[Process, ...] = (), **more: object) -> RunState:
    procs = ProcessReading(writers=(WRITER,), processes=stayed, orphans=orphans)
    gpu = Gpu(6, status="ok", processes=(GpuProcess(90, int(1.2 * G)),), used_bytes=int(1.2 * G))
    node = NodeGpus(GpuReading(gpus=(gpu,)), 2_000.0)
    return RunState(procs=procs, processes={"n1": procs}, gpus={"n1": node}, **more)  # type: ignore[arg-type]


def test_what_did_not_end_with_the_run_is_named_with_what_it_holds_and_the_key_that_cleans_it():
    said = with_leftovers(ended(ENGINE), FINISHED)
    assert [fact.text for fact in said.evidence] == [
        "1 process is left, with 1.2 G on GPU 6, 6.0 G of memory: pid 90 VLLM::EngineCore"
    ]
    assert said.next == (CLEAN,)


def test_an_orphan_that_was_never_seen_in_the_run_is_no_trace_of_it():
    assert with_leftovers(ended(orphans=(ENGINE,)), FINISHED) == FINISHED


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(ENGINE, role="launcher"), id="the shell that started it"),
        pytest.param(replace(ENGINE, started_at=2_001.0), id="what the shell started next"),
        pytest.param(replace(ENGINE, role="ray worker"), id="a worker of a Ray that lives"),
        pytest.param(replace(ENGINE, state="Z"), id="one that ended"),
    ],
)
def test_what_goes_on_rightly_is_not_left_over(other: Process):
    assert leftovers(ended(other)).processes == ()


def test_a_ray_worker_that_lost_its_raylet_is_left_over():
    worker = replace(ENGINE, role="ray worker")
    assert leftovers(ended(worker, orphans=(worker,))).processes == (worker,)


def test_a_run_whose_writer_lives_has_left_nothing_yet():
    state = ended(ENGINE)
    assert state.procs is not None
    alive = replace(state, procs=replace(state.procs, writers=(replace(WRITER, alive=True, gone_at=None),)))
    assert with_leftovers(alive, FINISHED) == FINISHED


def test_what_its_own_processes_made_is_told_once_the_probe_has_looked():
    mine = Removal("/dev/shm/torch_7_1_0", "shared memory", 1, 2, 0, 0, 1_500.0, 3 * G)
    driver = replace(mine, path="/tmp/ray/session_2026-01-10_08-00-00_123456_7", kind="Ray session")
    others = (
        replace(mine, path="/dev/shm/nccl-x"),  # of its time: it may be any run's
        replace(mine, path="/dev/shm/torch_8_7_0"),
        replace(mine, path="/tmp/ray/session_2026-01-10_08-00-00_7_123456"),
        replace(mine, newest_at=300.0),  # of an earlier process of this pid
    )
    said = with_leftovers(ended(leftovers=LeftoversReading(1, found=(mine, driver, *others))), FINISHED)
    assert [fact.text for fact in said.evidence] == ["2 paths are left, 6.0 G: shared memory /dev/shm/torch_7_1_0 and 1 more"]


def test_a_run_that_goes_on_is_not_asked_for_leftovers():
    running = replace(FINISHED, word="running")
    assert with_leftovers(ended(ENGINE), running) == running


def found_afterwards(*orphans: Process, pointing: tuple[int, ...]) -> RunState:
    """hangtop was opened when the run had ended: nobody writes its log."""
    return RunState(procs=ProcessReading(orphans=orphans, pointing=pointing))


def test_of_a_run_that_had_ended_before_orphans_that_point_at_its_log_are_named():
    other = replace(ENGINE, pid=91)
    state = found_afterwards(ENGINE, other, pointing=(90,))
    assert leftovers(state).processes == (ENGINE,)
    said = "1 process is without a parent, perhaps left by this run, with 6.0 G of memory: pid 90 VLLM::EngineCore"
    assert with_leftovers(state, FINISHED).evidence[0].text == said


def test_what_only_points_at_the_log_is_not_known_to_be_of_the_run():
    assert not leftovers(found_afterwards(ENGINE, pointing=(90,))).seen
    assert leftovers(ended(ENGINE)).seen


def test_a_rank_without_parent_that_still_holds_the_log_of_a_run_that_is_over_is_left():
    procs = ProcessReading(writers=(replace(WRITER, pid=90, alive=True, gone_at=None),), processes=(ENGINE,))
    state = RunState(procs=procs)
    assert leftovers(state).processes == ()  # it may be a run that lives
    said = with_leftovers(state, FINISHED)
    assert said.evidence[0].text == "1 process is left, with 6.0 G of memory: pid 90 VLLM::EngineCore"
    assert said.next == (STOP,)
    watched_over = RunState(procs=replace(procs, processes=(replace(ENGINE, ppid=80),)))
    assert with_leftovers(watched_over, FINISHED) == FINISHED


def test_an_orphan_that_is_taken_for_the_writer_of_a_log_that_nobody_holds_is_left():
    taken = RunState(procs=ProcessReading(processes=(ENGINE,), taken=(90,)))
    assert leftovers(taken).processes == (ENGINE,)
    assert leftovers(RunState(procs=ProcessReading(processes=(replace(ENGINE, ppid=80),), taken=(90,)))).processes == ()
    assert leftovers(RunState(procs=ProcessReading(processes=(replace(ENGINE, role="other"),), taken=(90,)))).processes == ()


def test_detached_actors_in_the_run_s_own_ray_session_are_left_when_its_driver_is_gone():
    actor = replace(ENGINE, ppid=80, role="ray worker", name="ray::WorkerDict")
    state = RunState(procs=ProcessReading(processes=(actor,), of_ray=(90,)))
    stalled = replace(FINISHED, word="stalled")
    said = with_leftovers(state, stalled)
    assert said.evidence[0].text == "1 process is left, with 6.0 G of memory: pid 90 ray::WorkerDict"
    assert said.next == (STOP,)
    assert with_leftovers(RunState(procs=ProcessReading(processes=(actor,))), stalled) == stalled
