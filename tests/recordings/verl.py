"""The log of a verl run, as its readings tell it: stages, steps, ranks, and lines with hostile text among them."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.records.log import LineKind, LogFile, LogLine, LogReading, Pace, Progress, RankLog, StageEvent, StagePlan

START = 1_768_126_000.0
"""2026-01-11 10:06:40 UTC."""
HOST = "n1"
PLAN = tuple(
    StagePlan(id_, title, typical_s=typical, slow_after_s=60, stalled_after_s=limit, steady=id_ == "train_loop")
    for id_, title, typical, limit in (
        ("config", "config", 5, 120),
        ("dataset", "dataset", 20, 300),
        ("resource_pool", "pool", 5, 120),
        ("rollout_init", "rollout", 60, 180),
        ("actor_init", "actors", 30, 180),
        ("weight_sync", "weight sync", 5, 120),
        ("train_loop", "training", None, 120),
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
    return tuple(sorted(lines, key=lambda line: line.at or 0.0))


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
        profiles=("verl", "ray", "vllm", "sglang"),
        world=8,
        stages=stages_until(last, stage_at),
        plan=PLAN,
        progress=Progress(
            120,
            400,
            50.9,
            14_252.0,
            "step",
            metrics={"loss": 0.119, "throughput": 812.0},
            history={
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


def before_training(log: LogReading, stages: tuple[StageEvent, ...]) -> LogReading:
    end = log.last_output_at or START
    ranks = tuple(replace(rank, step=None, total=None, step_s=None, metrics={}) for rank in log.ranks)
    tail = tuple(
        LogLine(0, 100 * number, end - before + 12, None, "(TaskRunner pid=133842)" if number else "", text, kind)
        for number, (before, kind, text) in enumerate(STARTING)
    )
    return replace(log, ranks=ranks, tail=tail, progress=Progress(), pace=Pace(), stages=stages, longest_silence_s=12.0)
