"""Writes the recordings beside this file, for snapshots and screenshots: `python tests/recordings/make.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parent))

import fleet

from hangtop import wire
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.gpu import GpuProcess, GpuReading
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.host import HostReading
from hangtop.records.log import (
    Finding,
    LineKind,
    LogFile,
    LogLine,
    LogReading,
    Pace,
    Progress,
    RankLog,
    Remedy,
    StageEvent,
    StagePlan,
)
from hangtop.records.process import Process, ProcessReading, Recent, Writer
from hangtop.records.reading import Reading
from hangtop.sources.proc.subtree import with_subtrees
from hangtop.spec import WatchSpec

HERE = Path(__file__).parent
START = 1_768_126_000.0
"""2026-01-11 10:06:40 UTC."""
HOST = "n1"
NOTHING: Mapping[str, object] = MappingProxyType({})
PLAN = tuple(
    StagePlan(id_, title, typical_s=typical, slow_after_s=60, stalled_after_s=limit, steady=id_ == "train_loop", causes=(cause,))
    for id_, title, typical, limit, cause in (
        ("config", "config", 5, 120, "the configuration server does not answer"),
        ("dataset", "dataset", 20, 300, "the file system is slow"),
        ("resource_pool", "pool", 5, 120, "fewer GPUs than asked for"),
        ("rollout_init", "rollout", 60, 180, "the engines load their weights"),
        ("actor_init", "actors", 30, 180, "the actors load their weights"),
        ("weight_sync", "weight sync", 5, 120, "a rank does not enter the collective"),
        ("train_loop", "training", None, 120, "a rank does not enter the collective"),
    )
)
TOOK_S = {"config": 5.0, "dataset": 20.0, "resource_pool": 5.0, "rollout_init": 31.0, "actor_init": 15.0, "weight_sync": 4.0}


def stages_until(last: str, entered_at: float) -> tuple[StageEvent, ...]:
    """Every stage up to `last`, with their usual durations."""
    ids = [stage.id for stage in PLAN]
    before = ids[: ids.index(last)]
    at = entered_at - sum(TOOK_S[id_] for id_ in before)
    events: list[StageEvent] = []
    for number, id_ in enumerate([*before, last]):
        title = next(stage.title for stage in PLAN if stage.id == id_)
        events.append(StageEvent(id_, title, "verl", 0, 100 * number, at))
        at += TOOK_S.get(id_, 0.0)
    return tuple(events)


def verl_lines(end: float, first_step: int) -> tuple[LogLine, ...]:
    """The last minutes of a verl run, hostile text among it."""
    driver, worker = "(TaskRunner pid=133842)", "(WorkerDict pid=133950)"
    lines: list[LogLine] = []
    for step in range(first_step, first_step + 6):
        at = end - 51.0 * (first_step + 5 - step)
        loss = 0.131 - 0.002 * (step - first_step)
        lines += [
            LogLine(0, len(lines) * 160, at - 41, 0, driver, "INFO: generate text done."),
            LogLine(0, len(lines) * 160 + 40, at - 26, 0, worker, "[rank0]: reward batch 64/64, [/dev/shm] 12.4 GiB used [/]"),
            LogLine(0, len(lines) * 160 + 80, at - 14, 0, driver, "INFO: update actor done."),
            LogLine(
                0,
                len(lines) * 160 + 120,
                at - 1,
                None,
                driver,
                f"step:{step} - actor/pg_loss:{loss:.3f} - actor/grad_norm:0.50 - perf/throughput:812.3 - "
                "timing_s/step:50.9 - actor/lr:1e-06 - response_length/mean:812.0",
                "progress",
            ),
        ]
    lines.insert(
        -6,
        LogLine(
            0,
            100_000,
            end - 88,
            3,
            "(WorkerDict pid=133953)",
            "/opt/torch/utils/checkpoint.py:92: UserWarning: None of the inputs have requires_grad=True",
            "warning",
        ),
    )
    lines.append(LogLine(0, 100_100, end, 0, worker, "[rank0]: weight sync to 8 rollout workers, 3.09 GiB", "stage"))
    return tuple(lines)


def verl_log(at: float, *, last: str = "train_loop", behind: int | None = None, silent_s: float = 3.0) -> LogReading:
    """8 ranks of a verl run in step 120 of 400; rank `behind` is two steps late and quieter."""
    output_at = at - silent_s
    stage_at = output_at if last == "weight_sync" else output_at - 6_180
    ranks = tuple(
        RankLog(
            rank,
            8,
            host=HOST,
            pid=133_950 + rank,
            stage=last,
            step=118 if rank == behind else 120,
            total=400,
            step_s=50.9,
            last_at=output_at - (41 if rank == behind else rank % 3),
            lines=9_000 + rank,
            metrics={"loss": 0.119},
        )
        for rank in range(8)
    )
    return LogReading(
        files=(
            LogFile("/runs/gkd/train.log", size_bytes=50_551_193, scanned_bytes=50_551_193, lines=331_245, modified_at=output_at),
        ),
        bytes=50_551_193,
        lines=331_245,
        last_output_at=output_at,
        last_line="[rank0]: weight sync to 8 rollout workers, 3.09 GiB",
        framework="verl",
        profiles=("verl",),
        world=8,
        stages=stages_until(last, stage_at),
        plan=PLAN,
        progress=Progress(
            120,
            400,
            50.9,
            14_252.0,
            "step",
            {"loss": 0.119, "throughput": 812.0},
            {
                "step_s": (50.1, 51.0, 51.2, 50.9, 51.4, 50.2, 50.8, 51.0, 50.3, 51.6, 51.1, 50.9),
                "loss": (0.31, 0.28, 0.25, 0.22, 0.2, 0.18, 0.17, 0.15, 0.14, 0.13, 0.12, 0.119),
                "throughput": (812.0, 811.0, 812.4, 812.1, 811.7, 812.2, 811.9, 812.0, 812.3, 811.8, 812.1, 812.0),
            },
        ),
        pace=Pace(119, 50.9, 53.0, 55.0),
        longest_silence_s=36.0,
        ranks=ranks,
        tail=verl_lines(output_at, 115),
        fresh=True,
    )


def beat(at: float, *, problem: str | None = None) -> Reading:
    names = ("log", "procs", "pages")
    health = tuple(SourceHealth(name, at, problem=problem if name == "log" else None) for name in names)
    return Reading(
        "probe", HOST, at, Heartbeat((*health, SourceHealth("gpu", absent="no NVIDIA driver here (libnvidia-ml.so.1 not found)")))
    )


def full_beat(at: float) -> Reading:
    """All sources answer."""
    names = ("log", "procs", "pages", "gpu", "ray", "stacks")
    return Reading("probe", HOST, at, Heartbeat(tuple(SourceHealth(name, at) for name in names)))


def writer(
    at: float,
    *,
    alive: bool = True,
    exit_code: int | None = None,
    behind: int | None = None,
    method: str = "generate",
    peers: str = "wait",
    work: Mapping[str, object] = NOTHING,
) -> Reading:
    gone_at = None if alive else at - 60
    who = Writer(
        pid=133_701,
        started_at=START - 6_300,
        name="python",
        command="python -m verl.trainer.main_ppo",
        paths=("/runs/gkd/train.log",),
        alive=alive,
        gone_at=gone_at,
        exit_code=exit_code,
    )
    return Reading(
        "procs",
        HOST,
        at,
        ProcessReading((who,), processes=tree(at, behind=behind, method=method, peers=peers, work=work) if alive else ()),
    )


def process(pid: int, ppid: int, command: str, *, cpu: float, rss_g: float, **more: object) -> Process:
    """A process of the run; its subtree's sums are added by `tree`."""
    known: dict[str, object] = {
        "started_at": START - 6_290, "start_ticks": pid, "name": command.split(maxsplit=1)[0], "state": "R" if cpu > 50 else "S",
        "user": "ada", "uid": 1000, "threads": 4, "read_b_s": 0.0, "write_b_s": 0.0,
    }  # fmt: skip
    known |= {"cpu_percent": cpu, "rss_bytes": int(rss_g * 2**30), **more}
    return Process(pid=pid, ppid=ppid, command=command, **known)  # type: ignore[arg-type]


def tree(
    at: float, *, behind: int | None = None, method: str = "generate", peers: str = "wait", work: Mapping[str, object] = NOTHING
) -> tuple[Process, ...]:
    """Driver, 8 Ray workers with 4 data loader workers each, 2 engine cores. Rank `behind` waits in a lock, or does `work`; its
    `peers` wait for it or spin."""
    found = [
        process(133_701, 1, "python -m verl.trainer.main_ppo", cpu=0.0, rss_g=1.2, threads=61, role="launcher"),
        process(133_842, 133_701, "ray::TaskRunner.run", cpu=2.0, rss_g=4.1, threads=88, role="ray worker"),
    ]
    for rank in range(8):
        does, cpu = (
            ("update_actor", 2.0)
            if rank == behind
            else (method, 99.0)
            if behind is None
            else ("sync_weights", 99.0 if peers == "spin" else 3.0)
        )
        title = f"ray::WorkerDict.{does}" if does else "ray::WorkerDict"
        loads = {"read_b_s": 240e6, "state": "D" if rank % 2 else "R"} if peers == "load" else {}
        waits: Mapping[str, object] = (
            loads if loads else (work or {"state": "S", "wchan": "futex_wait_queue"}) if rank == behind else {}
        )
        found.append(
            process(
                133_950 + rank,
                133_701,
                title,
                cpu=cpu,
                rss_g=38.0,
                threads=141,
                role="rank",
                rank=rank,
                local_rank=rank,
                world=8,
                **{"state_since": at - 150, **waits},
            )
        )
        found += [
            process(
                134_022 + 10 * rank + n,
                133_950 + rank,
                title,
                cpu=0.0,
                rss_g=0.3,
                role="data worker",
                rank=rank,
            )
            for n in range(4)
        ]
    found += [process(134_200 + n, 133_701, "VLLM::EngineCore", cpu=0.5, rss_g=5.9, role="engine core") for n in range(2)]
    return with_subtrees(found)


def machine(at: float) -> Reading:
    host = HostReading(cores=128, load_1m=9.4, memory_bytes=1_945 * 2**30, available_bytes=1_560 * 2**30, oom_kills=0)
    return Reading("procs", HOST, at, host)


def healthy() -> Iterable[Reading]:
    yield Reading("log", HOST, START, verl_log(START))
    yield writer(START)
    yield machine(START)
    yield beat(START)


def stalled() -> Iterable[Reading]:
    """Rank 3 stays behind in the weight sync; silent for 151 s."""
    yield Reading("log", HOST, START, verl_log(START, last="weight_sync", behind=3, silent_s=151.0))
    yield writer(START, behind=3)
    yield machine(START)
    yield beat(START)


def slow() -> Iterable[Reading]:
    """Quiet for 95 s while the rollout engines load: within their limit."""
    log = verl_log(START, last="rollout_init", silent_s=95.0)
    yield Reading("log", HOST, START, _before_training(log, stages_until("rollout_init", START - 97)))
    yield writer(START, method="")
    yield machine(START)
    yield beat(START)


def startup() -> Iterable[Reading]:
    log = verl_log(START, last="rollout_init", silent_s=12.0)
    stages = stages_until("rollout_init", START - 13)
    yield Reading("log", HOST, START, _before_training(log, stages))
    yield writer(START, method="")
    yield machine(START)
    yield beat(START)


def crashed() -> Iterable[Reading]:
    at = START - 40
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.10 GiB"
    finding = Finding(
        "cuda.oom",
        "fatal",
        "cause",
        100_200,
        text,
        rank=3,
        at=at,
        last_at=at,
        hang="crash",
        cause="A GPU ran out of memory: the batch, the sequence or the KV cache is larger than what is left.",
        remedies=(
            Remedy("A smaller share for the engine", "config", "actor_rollout_ref.rollout.gpu_memory_utilization=0.5"),
            Remedy(
                "Much 'reserved but unallocated' only, and on trainer processes only",
                "environment",
                "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            ),
        ),
        cite=("verl-project/verl#302",),
    )
    victim = Finding(
        "ray.actor_died",
        "fatal",
        "consequence",
        100_400,
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        at=at + 2,
        hang="crash",
        cause="An actor's process ended.",
        remedies=(Remedy("Look at the first error above it."),),
    )
    log = verl_log(START, silent_s=40.0)
    lines = (
        LogLine(0, 100_200, at, 3, "(WorkerDict pid=133953)", text, "error"),
        LogLine(0, 100_400, at + 2, None, "", victim.text, "error"),
    )
    yield Reading(
        "log", HOST, START, replace(log, findings=(finding, victim), tail=(*log.tail, *lines), last_line=lines[-1].text)
    )
    yield writer(START, alive=False, exit_code=1)
    yield machine(START)
    yield beat(START)


def finished() -> Iterable[Reading]:
    log = verl_log(START, silent_s=252.0)
    stages = (*log.stages, StageEvent("finish", "finish", "verl", 0, 100_300, START - 252))
    ranks = tuple(replace(rank, step=400) for rank in log.ranks)
    yield Reading(
        "log", HOST, START, replace(log, stages=stages, ranks=ranks, progress=replace(log.progress, step=400, eta_s=0.0))
    )
    yield writer(START, alive=False, exit_code=0)
    yield machine(START)
    yield beat(START)


def many() -> Iterable[Reading]:
    """256 ranks on 32 nodes, one log each: two are behind, node n08 has not said a word."""
    behind = {155, 158}
    ranks = tuple(
        RankLog(
            rank,
            256,
            rank % 8,
            f"n{rank // 8:02d}",
            80_000 + rank,
            stage="train_loop",
            step=8_409 if rank in behind else 8_412,
            total=50_000,
            step_s=6.02,
            last_at=START - (206 if rank in behind else 192),
            lines=60_000,
        )
        for rank in range(256)
        if rank // 8 != 8
    )
    files = tuple(
        LogFile(f"/runs/big/rank-{rank:03d}.log", size_bytes=7_900_000, scanned_bytes=7_900_000, rank=rank) for rank in range(256)
    )
    tail = tuple(
        LogLine(
            (7 * number) % 256,
            1_000 + number,
            START - 250 + number,
            (7 * number) % 256,
            "",
            f"iteration {8_400 + number // 5}/ 50000 | consumed samples: {17_215_488 + 2_048 * number} | lm loss: 2.1184E+00",
            "progress",
        )
        for number in range(59)
    )
    log = replace(
        verl_log(START, silent_s=192.0),
        files=files,
        framework="megatron",
        world=256,
        ranks=ranks,
        tail=tail,
        progress=Progress(8_412, 50_000, 6.02, 250_358.0, "step", {"loss": 2.118}),
        pace=Pace(8_000, 6.02, 6.4, 9.0),
    )
    yield Reading("log", "n00", START, log)
    for node in (number for number in range(32) if number != 8):
        yield Reading("procs", f"n{node:02d}", START, ProcessReading(processes=node_tree(node)))
        gpus = tuple(fleet.idle(n, START) if 8 * node + n in behind else fleet.spinning(n, START) for n in range(8))
        gpus = tuple(replace(gpu, processes=(GpuProcess(80_000 + 8 * node + n, gpu.used_bytes),)) for n, gpu in enumerate(gpus))
        yield Reading("gpu", f"n{node:02d}", START, GpuReading(gpus=gpus))
    health = tuple(SourceHealth(name, START) for name in ("log", "procs", "pages", "gpu"))
    yield Reading("probe", "n00", START, Heartbeat(health))


def node_tree(node: int) -> tuple[Process, ...]:
    """A launcher and 8 ranks that wait, as on each node of a big run."""
    found = [process(79_000, 1, "torchrun --nnodes 32 --nproc-per-node 8 pretrain_gpt.py", cpu=0.0, rss_g=0.9, role="launcher")]
    for rank in range(8 * node, 8 * node + 8):
        numbers = {"rank": rank, "local_rank": rank % 8, "world": 256}
        found.append(process(80_000 + rank, 79_000, "python pretrain_gpt.py", cpu=3.0, rss_g=88.0, role="rank", **numbers))
    return with_subtrees(found)


STARTING: tuple[tuple[float, LineKind, str], ...] = (
    (43, "stage", "INFO worker.py:1821 -- Started a local Ray instance."),
    (38, "plain", "TaskRunner hostname: n1, PID: 133842"),
    (36, "stage", "resource_pool_spec: {'global_pool': [8]}"),
    (33, "stage", "Using dataset class: RLHFDataset"),
    (26, "plain", "Generating train split: 7473 examples"),
    (20, "progress", "dataset len: 7473"),
    (17, "progress", "filter dataset len: 7473"),
    (15, "progress", "Size of train dataloader: 400"),
    (14, "stage", "Total training steps: 400"),
    (12, "stage", "colocated worker base class <class 'verl.single_controller.base.worker.Worker'>"),
)


def _before_training(log: LogReading, stages: tuple[StageEvent, ...]) -> LogReading:
    end = log.last_output_at or START
    ranks = tuple(replace(rank, step=None, total=None, step_s=None, metrics={}) for rank in log.ranks)
    tail = tuple(
        LogLine(0, 100 * number, end - before + 12, None, "(TaskRunner pid=133842)" if number else "", text, kind)
        for number, (before, kind, text) in enumerate(STARTING)
    )
    return replace(log, ranks=ranks, tail=tail, progress=Progress(), pace=Pace(), stages=stages, longest_silence_s=12.0)


def fleet_healthy() -> Iterable[Reading]:
    """8 GPUs and a Ray cluster beside the healthy run."""
    yield from fleet.past(START, 120)
    yield Reading("log", HOST, START, verl_log(START))
    yield writer(START)
    yield machine(START)
    yield fleet.ray(START, method="generate", since=START - 15)
    yield fleet.gpu_reading(START, tuple(fleet.busy(index, START) for index in range(8)))
    yield full_beat(START)


def fleet_hung() -> Iterable[Reading]:
    """Rank 3 waits for a lock on its way to the collective in which its seven peers spin."""
    since = START - 151
    yield from fleet.past(since, 329)
    yield from fleet.past_cpu(since - 329, since)
    yield from fleet.past_cpu(since, START, 3)
    yield Reading("log", HOST, START, verl_log(START, last="weight_sync", behind=3, silent_s=151.0))
    yield writer(START, behind=3, peers="spin")
    yield machine(START)
    yield from fleet.standing(since, START, 3)
    yield fleet.collectives(START - 30, 3)
    yield fleet.ray(START, method="sync_weights", since=since, odd=(3, "update_actor", since - 10))
    yield fleet.stacks(START - 24, 3, 1)
    yield fleet.stacks(START - 4, 3, 2)
    yield full_beat(START)


def fleet_slow() -> Iterable[Reading]:
    """Rank 0 writes a checkpoint, its peers wait for it: slow, and at work."""
    since = START - 151
    log = verl_log(START, silent_s=151.0)
    save = StagePlan("checkpoint", "save", slow_after_s=120, stalled_after_s=900, typical_s=60)
    stages = (*log.stages, StageEvent("checkpoint", "save", "verl", 0, 100_100, since))
    ranks = tuple(replace(rank, stage="checkpoint") for rank in log.ranks)
    said = LogLine(
        0, 100_100, since, 0, "(WorkerDict pid=133950)", "[rank0]: Saved model to checkpoints/gkd/global_step_120", "stage"
    )
    tail = (*log.tail[:-1], said)
    yield from fleet.past(since, 120)
    yield Reading(
        "log", HOST, START, replace(log, stages=stages, plan=(*log.plan, save), ranks=ranks, tail=tail, last_line=said.text)
    )
    yield writer(
        START, behind=0, peers="spin", method="save_checkpoint", work={"state": "R", "write_b_s": 412e6, "cpu_percent": 97.0}
    )
    yield machine(START)
    yield from fleet.standing(since, START, 0)
    yield Reading("checkpoints", HOST, START, SAVED)
    yield fleet.ray(START, method="save_checkpoint", since=since)
    yield fleet.stacks(START - 24, 0, 1, fleet.SAVES, fleet.BARRIER)
    yield fleet.stacks(START - 4, 0, 2, fleet.SAVES, fleet.BARRIER)
    yield full_beat(START)


def fleet_driver() -> Iterable[Reading]:
    """GPU 5 fell off the bus and the driver answers for no other GPU; rank 5 sits in the kernel."""
    since = START - 46
    yield from fleet.past(START - 50, 120)
    yield fleet.gpu_reading(START - 45, tuple(fleet.busy(index, START - 45) for index in range(8)))
    yield Reading("log", HOST, START, verl_log(START, last="weight_sync", silent_s=46.0))
    yield writer(START, behind=5, peers="spin", work=IN_KERNEL)
    yield machine(START)
    yield fleet.stuck_driver(START, lost=5, lost_at=START - 44, silent_since=START - 40)
    yield fleet.ray(START - 12, method="sync_weights", since=since)
    yield full_beat(START)


def fleet_startup() -> Iterable[Reading]:
    """The engines load their weights: GPUs fill, and nothing is printed."""
    log = verl_log(START, last="rollout_init", silent_s=12.0)
    stages = stages_until("rollout_init", START - 13)
    yield from fleet.past(START, 40, fleet.filling)
    yield Reading("log", HOST, START, _before_training(log, stages))
    yield writer(START, method="init_model", peers="load")
    yield machine(START)
    yield fleet.ray(START, method="init_model", since=START - 13, started=40.0)
    yield fleet.gpu_reading(START, tuple(fleet.filling(index, START) for index in range(8)))
    yield full_beat(START)


def fleet_finished() -> Iterable[Reading]:
    """All ranks left well; an engine core stayed behind on GPU 6."""
    yield from fleet.past(START - 252, 240)
    yield from finished()
    left = tuple(replace(one, state="X", exit_code=0) for one in tree(START) if one.role == "rank")
    engine = process(133_902, 1, "VLLM::EngineCore", cpu=0.0, rss_g=5.9, role="engine core")
    over = writer(START, alive=False, exit_code=0).value
    assert isinstance(over, ProcessReading)
    yield Reading("procs", HOST, START, replace(over, ended=left, orphans=(engine,)))
    gpus = [fleet.idle(index, START, used_bytes=0, processes=()) for index in range(8)]
    gpus[6] = fleet.idle(6, START, used_bytes=int(1.2 * 2**30), processes=(GpuProcess(133_902, int(1.2 * 2**30)),))
    yield fleet.gpu_reading(START, tuple(gpus))
    yield full_beat(START)


IN_KERNEL: Mapping[str, object] = {
    "state": "D",
    "wchan": "_nv_rm_acquire_lock",
    "cpu_percent": 0.0,
    "state_since": START - 44,
    "recent": Recent(30.0, 30, 0.0, 1.0, "_nv_rm_acquire_lock", 0.0, 0.0),
}
SAVED = CheckpointReading(
    "/runs/gkd/checkpoints",
    "the log",
    "/runs/gkd/checkpoints/global_step_120/actor/model_world_size_8_rank_0.pt",
    int(31.2 * 2**30),
    START - 1,
    int(31.2 * 2**30),
    9,
    412e6,
    START - 1,
)
SESSIONS = {
    f.__name__: f
    for f in (
        healthy,
        stalled,
        slow,
        startup,
        crashed,
        finished,
        many,
        fleet_healthy,
        fleet_hung,
        fleet_slow,
        fleet_driver,
        fleet_startup,
        fleet_finished,
    )
}


PLAIN = frozenset({"healthy", "stalled", "slow", "startup", "crashed", "finished"})
"""One reading of each source, the log's first."""


def _in_order(readings: Iterable[Reading]) -> list[Reading]:
    """By time; of one moment the log last, so that nothing is judged before all of it is there."""
    return sorted(readings, key=lambda reading: (reading.at, reading.source == "log"))


def main() -> None:
    for name, session in SESSIONS.items():
        spec = WatchSpec(
            logs=("/runs/big/rank-*.log",) if name == "many" else ("/runs/gkd/train.log",),
            sources=("log", "procs", "gpu", "ray", "stacks", "nccl") if "fleet" in name else ("log", "procs", "gpu"),
        )
        header = wire.encode(wire.Header(wire.SCHEMA, "0.1.0", START, spec))
        (HERE / f"{name}.jsonl").write_bytes(
            header + b"".join(wire.encode(reading) for reading in (session() if name in PLAIN else _in_order(session())))
        )


if __name__ == "__main__":
    main()
