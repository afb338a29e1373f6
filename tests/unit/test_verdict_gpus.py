"""GPUs in the verdict: a stuck driver, kernels that spin, the one that does not, and work at normal power."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hangtop.diagnosis.judge import diagnose
from hangtop.diagnosis.members.rank_gpus import of_run
from hangtop.diagnosis.rules.gpu_rules import driver_doubted
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records.gpu import Gpu, GpuProcess, GpuReading, NodeGpus
from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile, LogReading, RankLog
from hangtop.records.process import Process, ProcessReading, ProcessRole, RecentActivity, Writer
from hangtop.records.stack import Frame, Thread
from hangtop.state.run_state import RunState
from tests.fakes.members import NOW, SPEC, two_looks

G = 2**30


def gpu(index: int, util_percent: float, power_w: float) -> Gpu:
    return Gpu(
        index,
        "ok",
        read_at=NOW,
        util_percent=util_percent,
        power_w=power_w,
        limit_w=700.0,
        used_bytes=60 * G,
        total_bytes=80 * G,
    )


def run(*gpus: Gpu, silence_s: float = 200.0, stuck_since: float | None = None) -> RunState:
    log = LogReading(files=(LogFile("train.log", size_bytes=10),), bytes=10, last_output_at=NOW - silence_s)
    reading = GpuReading(gpus=gpus, stuck_since=stuck_since, stuck_in="nvmlDeviceGetMemoryInfo" if stuck_since else None)
    return RunState(
        log=log,
        ranks={index: RankLog(index, step=7, last_at=NOW - silence_s) for index in range(len(gpus))},
        gpus={"n1": NodeGpus(reading, NOW)},
        health={"log": SourceHealth("log", read_at=NOW)},
        heard_at=NOW,
    )


SPINNING = tuple(gpu(index, 100.0, 92.0) for index in range(8))
COMPUTING = tuple(gpu(index, 98.0, 610.0) for index in range(8))


def test_gpus_that_spin_are_a_hung_collective_and_the_idle_one_is_the_suspect() -> None:
    odd = replace(SPINNING[3], util_percent=0.0, power_w=71.0)
    verdict = diagnose(run(*SPINNING[:3], odd, *SPINNING[4:]), SPEC, NOW)
    assert (verdict.word, verdict.kind) == ("hung", "nccl")
    assert "7 GPUs wait busily" in verdict.headline
    assert verdict.culprits == (), "whose GPU 3 is nothing tells"
    assert any("13 % of power" in fact.text for fact in verdict.evidence)


def test_the_idle_gpu_of_a_rank_is_suspect_and_that_of_somebody_else_is_not() -> None:
    odd = replace(gpu(3, 0.0, 71.0), minor=3, processes=(GpuProcess(103, 1 << 30),))
    theirs = replace(gpu(4, 0.0, 71.0), minor=4, processes=(GpuProcess(900, 60 << 30),))
    verdict = diagnose(each_on_its_own(*SPINNING[:3], odd, theirs), SPEC, NOW)
    assert [(culprit.rank, culprit.why) for culprit in verdict.culprits] == [(3, ("GPU 3 at 0 %",))]
    assert "3 GPUs wait busily" in verdict.headline
    ended = replace(each_on_its_own(*SPINNING[:3], theirs), procs=None)
    procs = ended.processes["n1"]
    gone = replace(procs, processes=procs.processes[:3], ended=(replace(procs.processes[3], state="X"),))
    assert of_run(with_processes(ended, gone), "n1") == {0, 1, 2}
    assert not any("GPU 4" in fact.text for fact in diagnose(with_processes(ended, gone), SPEC, NOW).evidence)


def test_when_all_spin_none_is_named() -> None:
    verdict = diagnose(run(*SPINNING), SPEC, NOW)
    assert (verdict.word, verdict.kind, verdict.culprits) == ("hung", "nccl", ())


def test_gpus_at_normal_power_are_work_and_not_to_be_killed() -> None:
    verdict = diagnose(run(*COMPUTING), SPEC, NOW)
    assert verdict.word == "slow"
    assert "The GPUs compute" in verdict.headline
    assert "Do not kill it" in verdict.headline


def test_a_driver_that_gives_no_answer_is_named_with_the_call() -> None:
    verdict = diagnose(run(*SPINNING, stuck_since=NOW - 40), SPEC, NOW)
    assert (verdict.word, verdict.kind, verdict.confidence) == ("hung", "driver_hung", "certain")
    assert "nvmlDeviceGetMemoryInfo" in verdict.headline


def test_a_driver_that_is_slow_for_a_moment_is_no_hang() -> None:
    assert diagnose(run(*COMPUTING, stuck_since=NOW - 4, silence_s=20), SPEC, NOW).word == "running"


def test_check_waits_for_a_driver_that_may_answer_yet_and_not_for_one_that_is_not_here() -> None:
    asked = replace(SPINNING[0], status="reading")
    assert driver_doubted(take_snapshot(run(asked), SPEC, NOW))
    assert driver_doubted(take_snapshot(run(stuck_since=NOW - 4), SPEC, NOW))
    assert not driver_doubted(take_snapshot(run(), SPEC, NOW))
    starts = replace(run(), gpus={"n1": NodeGpus(GpuReading(stuck_in="nvmlInit"), NOW)})
    assert driver_doubted(take_snapshot(starts, SPEC, NOW))


def test_spinning_gpus_in_a_run_that_writes_are_no_hang() -> None:
    assert diagnose(run(*SPINNING, silence_s=20), SPEC, NOW).word == "running"


def with_processes(state: RunState, procs: ProcessReading) -> RunState:
    return replace(state, procs=procs, processes={"n1": procs})


@pytest.mark.parametrize(
    "procs",
    [
        pytest.param(ProcessReading(), id="nobody was found"),
        pytest.param(ProcessReading(writers=(Writer(7, NOW - 201, "echo", "echo", alive=False, gone_at=NOW - 200),)), id="gone"),
    ],
)
@pytest.mark.parametrize("gpus", [COMPUTING, SPINNING])
def test_gpus_of_other_people_are_no_sign_of_the_life_of_a_run_that_is_not_here(
    gpus: tuple[Gpu, ...], procs: ProcessReading
) -> None:
    verdict = diagnose(with_processes(run(*gpus), procs), SPEC, NOW)
    assert (verdict.word, verdict.kind) == ("stalled", "dead_process")
    assert "the run died, or runs elsewhere" in verdict.headline
    assert not [fact for fact in verdict.evidence if fact.source == "gpu"]


def test_gpus_may_be_of_a_run_that_is_hidden_from_us() -> None:
    assert diagnose(with_processes(run(*COMPUTING), ProcessReading(hidden=3)), SPEC, NOW).word == "slow"


def ranks_on(devices: tuple[int, ...], role: ProcessRole = "rank") -> ProcessReading:
    return ProcessReading(
        processes=tuple(
            Process(100 + rank, 1.0, 1, 1, "python", "python train.py", state="S", role=role, rank=rank, devices=devices)
            for rank in range(2)
        )
    )


def test_a_run_on_the_cpu_does_not_spin_on_the_gpus_of_other_people() -> None:
    on_cpu = diagnose(with_processes(run(*SPINNING), ranks_on(())), SPEC, NOW)
    assert on_cpu.kind != "nccl"
    assert not [fact for fact in on_cpu.evidence if fact.source == "gpu"]
    assert diagnose(with_processes(run(*SPINNING), ranks_on((0,))), SPEC, NOW).kind == "nccl"


def test_the_gpus_of_a_run_on_ray_may_be_those_of_workers_that_are_no_ranks() -> None:
    assert diagnose(with_processes(run(*SPINNING), ranks_on((), role="ray worker")), SPEC, NOW).kind == "nccl"


USER = "/home/me/train.py"
FETCH = Frame("train_step", USER, 20)
"""`loss.item()`: the driver polls for the end of the kernel, without the GIL."""


def beside_gpus(gpus: tuple[Gpu, ...], threads: dict[int, Thread], busy: RecentActivity, **more: object) -> RunState:
    """Ranks that each hold one GPU, looked at twice."""
    processes = tuple(
        Process(
            100 + rank, 1.0, 7, 99, "python", "python train.py", thread.state or "S", role="rank", rank=rank, world=len(gpus),
            devices=(rank,), visible_devices=str(rank), recent=busy, cpu_percent=busy.cpu_percent,
            subtree_cpu_percent=busy.cpu_percent, subtree_io_b_s=busy.io_b_s,
        )
        for rank, thread in threads.items()
    )  # fmt: skip
    procs = ProcessReading(processes=processes)
    return replace(with_processes(run(*gpus), procs), looks=two_looks(threads, threads, NOW), **more)  # type: ignore[arg-type]


SPINS = RecentActivity(seconds=10, samples=10, running_part=1.0, cpu_percent=99.0, io_b_s=0.0)
POLLS = Thread("MainThread", (FETCH,), tid=None, state="R")
LOCKED = Thread(
    "MainThread", (Frame("acquire", "/usr/lib/python3.11/threading.py", 300), Frame("load", USER, 61)), state="S", wait="lock"
)
BUSY_WAIT = SPINNING[:4]
ONE_IDLE = (*SPINNING[:2], replace(SPINNING[2], util_percent=0.0, power_w=71.0), SPINNING[3])


@pytest.mark.parametrize("looks", [True, False], ids=["with stacks", "without"])
def test_ranks_that_poll_for_kernels_that_spin_do_not_work(looks: bool) -> None:
    state = beside_gpus(BUSY_WAIT, dict.fromkeys(range(4), POLLS), SPINS)
    verdict = diagnose(state if looks else replace(state, looks=()), SPEC, NOW)
    assert (verdict.word, verdict.kind, verdict.culprits) == ("hung", "nccl", ())


def test_ranks_that_poll_at_different_places_have_not_parted() -> None:
    elsewhere = replace(POLLS, frames=(Frame("log_metrics", USER, 90), FETCH))
    barrier = replace(POLLS, frames=(Frame("barrier", "/v/site-packages/torch/distributed/distributed_c10d.py", 4800), FETCH))
    verdict = diagnose(beside_gpus(BUSY_WAIT, {0: elsewhere, 1: POLLS, 2: barrier, 3: POLLS}, SPINS), SPEC, NOW)
    assert (verdict.word, verdict.kind, verdict.culprits) == ("hung", "nccl", ())


def test_a_rank_that_polls_in_its_own_program_does_not_wait_for_its_gpu_though_two_looks_found_it_asleep() -> None:
    polls = replace(SPINS, running_part=0.0, cpu_percent=0.1, switches_s=10.0, main_cpu_part=0.0005)
    asleep = Thread("MainThread", (Frame("until_it_is_there", USER, 50), FETCH), state="S", wait="sleep")
    awake = replace(asleep, frames=(Frame("is_it_there", USER, 40), *asleep.frames), state="R", wait=None)
    state = beside_gpus(BUSY_WAIT, {0: POLLS, 1: POLLS, 2: asleep, 3: POLLS}, polls)
    between = replace(state.looks[0], started_at=NOW - 3.5, stacks=two_looks({2: awake}, {})[0].stacks)
    for looks, culprits in ((state.looks, []), ((state.looks[0], between, state.looks[1]), [2])):
        verdict = diagnose(replace(state, looks=looks), SPEC, NOW)
        assert (verdict.kind, [culprit.rank for culprit in verdict.culprits]) == ("nccl", culprits)


def test_in_a_container_that_hides_pids_the_local_rank_tells_the_gpu() -> None:
    idle = replace(SPINS, cpu_percent=0.0, running_part=0.0)
    state = beside_gpus(ONE_IDLE, {0: POLLS, 1: POLLS, 2: LOCKED, 3: POLLS}, idle)
    assert state.procs is not None
    hidden = tuple(
        replace(
            process,
            devices=(0, 1, 2, 3),
            visible_devices=None,
            local_rank=process.rank,
            cpu_percent=0.0 if process.rank == 2 else 99.0,
        )
        for process in state.procs.processes
    )
    polls = tuple(replace(process, subtree_cpu_percent=process.cpu_percent) for process in hidden)
    verdict = diagnose(replace(with_processes(state, ProcessReading(processes=polls)), looks=state.looks), SPEC, NOW)
    assert (verdict.word, verdict.kind, [culprit.rank for culprit in verdict.culprits]) == ("hung", "nccl", [2])


def test_who_never_launched_its_kernel_is_who_the_polling_ranks_wait_for() -> None:
    idle = replace(SPINS, cpu_percent=0.0, running_part=0.0)
    verdict = diagnose(beside_gpus(ONE_IDLE, {0: POLLS, 1: POLLS, 2: LOCKED, 3: POLLS}, idle), SPEC, NOW)
    assert (verdict.word, verdict.kind, [culprit.rank for culprit in verdict.culprits]) == ("hung", "nccl", [2])
    assert "Rank 2 never entered a collective on the GPU; 3 ranks wait for it." in verdict.headline


@pytest.mark.parametrize(
    ("gpus", "thread", "busy"),
    [
        (tuple(replace(device, memory_util_percent=41.0) for device in BUSY_WAIT), POLLS, SPINS),
        (BUSY_WAIT, replace(POLLS, owns_gil=True), SPINS),
        (BUSY_WAIT, POLLS, replace(SPINS, io_b_s=3e8)),
        (COMPUTING[:4], POLLS, SPINS),
    ],
    ids=["generates from memory", "computes in Python", "writes a checkpoint", "the GPUs compute"],
)
def test_gpus_that_look_busy_beside_real_work_are_no_hang(gpus: tuple[Gpu, ...], thread: Thread, busy: RecentActivity) -> None:
    assert diagnose(beside_gpus(gpus, dict.fromkeys(range(4), thread), busy), SPEC, NOW).word == "slow"


def each_on_its_own(*gpus: Gpu, silence_s: float = 200.0) -> RunState:
    """Rank N computes on GPU N."""
    here = tuple(replace(device, minor=device.index) for device in gpus)
    ranks = tuple(
        Process(100 + rank, 1.0, 1, 1, "python", "python train.py", "S", role="rank", rank=rank, devices=(rank,))
        for rank in range(4)
    )
    return with_processes(run(*here, silence_s=silence_s), ProcessReading(processes=ranks))


LOST = replace(gpu(2, 98.0, 610.0), status="lost", why="fell off the bus", xid=79, since=NOW - 150)


@pytest.mark.parametrize(
    ("odd", "confidence", "said"),
    [
        (LOST, "certain", "GPU 2 of rank 2: lost: fell off the bus (Xid 79)"),
        (
            replace(LOST, status="reset needed", why="sudo nvidia-smi --gpu-reset", xid=None),
            "likely",
            "GPU 2 of rank 2: reset needed",
        ),
        (replace(LOST, status="no answer", why=None, xid=None), "likely", "GPU 2 of rank 2: no answer"),
    ],
)
def test_a_gpu_that_failed_holds_up_its_rank_whatever_the_others_compute(odd: Gpu, confidence: str, said: str) -> None:
    verdict = diagnose(each_on_its_own(*COMPUTING[:2], odd, COMPUTING[3]), SPEC, NOW)
    assert (verdict.word, verdict.confidence, [culprit.rank for culprit in verdict.culprits]) == ("hung", confidence, [2])
    assert verdict.headline.startswith(said)


def test_a_gpu_that_failed_is_no_hang_while_lines_come_nor_where_nobody_of_the_run_computes_on_it() -> None:
    gpus = (*COMPUTING[:2], LOST, COMPUTING[3])
    assert diagnose(each_on_its_own(*gpus, silence_s=5), SPEC, NOW).word == "running"
    assert diagnose(each_on_its_own(*COMPUTING[:4], replace(LOST, index=4)), SPEC, NOW).word == "slow"
    moment = replace(LOST, status="no answer", why=None, since=NOW - 4)
    assert diagnose(each_on_its_own(*COMPUTING[:2], moment, COMPUTING[3]), SPEC, NOW).word == "slow"
