"""What a run that ended has left behind: named with what it holds, and only what is its own."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.leftovers import CLEAN, leftovers, with_leftovers
from hangtop.model import RunState
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading, NodeGpus
from hangtop.records.leftovers import LeftoversReading
from hangtop.records.plan import Removal
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.records.verdict import Verdict

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


def test_shared_memory_of_its_time_is_told_once_the_probe_has_looked():
    mine = Removal("/dev/shm/nccl-x", "shared memory", 1, 2, 0, 0, 1_500.0, 3 * G)
    other = replace(mine, path="/dev/shm/nccl-old", newest_at=300.0)
    said = with_leftovers(ended(leftovers=LeftoversReading(1, found=(mine, other))), FINISHED)
    assert [fact.text for fact in said.evidence] == ["1 path is left, 3.0 G: shared memory /dev/shm/nccl-x"]


def test_a_run_that_goes_on_is_not_asked_for_leftovers():
    running = replace(FINISHED, word="running")
    assert with_leftovers(ended(ENGINE), running) == running
