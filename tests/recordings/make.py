"""Writes the recordings beside this file, for snapshots and screenshots: `python tests/recordings/make.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parent))

import fleet
from node import beat, full_beat, machine, node_tree, process, tree, writer
from verl import HOST, START, before_training, stages_until, verl_lines, verl_log

from hangtop.records import wire
from hangtop.records.checkpoints import CheckpointReading
from hangtop.records.gpu import GpuProcess, GpuReading
from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.log import Finding, LogFile, LogLine, Pace, Progress, RankLog, Remedy, StageEvent, StagePlan
from hangtop.records.process import ProcessReading, RecentActivity
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec

HERE = Path(__file__).parent


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
    yield Reading("log", HOST, START, before_training(log, stages_until("rollout_init", START - 97)))
    yield writer(START, method="")
    yield machine(START)
    yield beat(START)


def startup() -> Iterable[Reading]:
    log = verl_log(START, last="rollout_init", silent_s=12.0)
    stages = stages_until("rollout_init", START - 13)
    yield Reading("log", HOST, START, before_training(log, stages))
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
    said = "Final validation metrics: {'val/reward/mean': 0.713}"
    last = LogLine(0, 100_300, START - 252, None, "(TaskRunner pid=133842)", said, "stage")
    tail = (*verl_lines(START - 254, 395)[:-1], last)
    progress = replace(log.progress, step=400, eta_s=0.0)
    yield Reading("log", HOST, START, replace(log, stages=stages, ranks=ranks, progress=progress, tail=tail, last_line=last.text))
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
        profiles=("megatron",),
        world=256,
        ranks=ranks,
        tail=tail,
        progress=Progress(8_412, 50_000, 6.02, 250_358.0, "step", metrics={"loss": 2.118}),
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


def fleet_healthy() -> Iterable[Reading]:
    """8 GPUs and a Ray cluster beside the healthy run."""
    yield from fleet.past(START, 120)
    yield Reading("log", HOST, START, verl_log(START))
    yield writer(START, on_ray=True)
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
    yield writer(START, behind=3, peers="spin", on_ray=True)
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
        START,
        behind=0,
        peers="spin",
        method="save_checkpoint",
        work={"state": "R", "write_b_s": 412e6, "cpu_percent": 97.0},
        on_ray=True,
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
    yield writer(START, behind=5, peers="spin", work=IN_KERNEL, on_ray=True)
    yield machine(START)
    yield fleet.stuck_driver(START, lost=5, lost_at=START - 44, silent_since=START - 40)
    yield fleet.ray(START - 12, method="sync_weights", since=since)
    yield full_beat(START)


def fleet_startup() -> Iterable[Reading]:
    """The engines load their weights: GPUs fill, and nothing is printed."""
    log = verl_log(START, last="rollout_init", silent_s=12.0)
    stages = stages_until("rollout_init", START - 13)
    yield from fleet.past(START, 40, fleet.filling)
    yield Reading("log", HOST, START, before_training(log, stages))
    yield writer(START, method="init_model", peers="load", on_ray=True)
    yield machine(START)
    yield fleet.ray(START, method="init_model", since=START - 13, started=40.0)
    yield fleet.gpu_reading(START, tuple(fleet.filling(index, START) for index in range(8)))
    yield full_beat(START)


def fleet_finished() -> Iterable[Reading]:
    """All ranks left well; an engine core stayed behind on GPU 6."""
    yield from fleet.past(START - 252, 240)
    yield from finished()
    left = tuple(replace(member, state="X", exit_code=0) for member in tree(START, on_ray=True) if member.role == "rank")
    engine = process(133_902, 1, "VLLM::EngineCore", cpu=0.0, rss_g=5.9, role="engine core")
    over = writer(START, alive=False, exit_code=0, on_ray=True).value
    assert isinstance(over, ProcessReading)
    yield Reading("procs", HOST, START, replace(over, ended=left, processes=(engine,)))
    gpus = [fleet.idle(index, START, used_bytes=0, processes=()) for index in range(8)]
    gpus[6] = fleet.idle(6, START, used_bytes=int(1.2 * 2**30), processes=(GpuProcess(133_902, int(1.2 * 2**30)),))
    yield fleet.gpu_reading(START, tuple(gpus))
    yield full_beat(START)


IN_KERNEL: Mapping[str, object] = {
    "state": "D",
    "wchan": "_nv_rm_acquire_lock",
    "cpu_percent": 0.0,
    "state_since": START - 44,
    "recent": RecentActivity(30.0, 30, 0.0, 1.0, "_nv_rm_acquire_lock", 0.0, 0.0),
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
