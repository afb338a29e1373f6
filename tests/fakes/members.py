"""Runs whose members are known by their processes and stacks: what the tests of verdicts over ranks are made of."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from hangtop.records.health import SourceHealth
from hangtop.records.log import LogFile, LogReading, RankLog, StageEvent, StagePlan
from hangtop.records.process import Process, ProcessReading, RecentActivity
from hangtop.records.stack import Frame, Stack, StacksReading, Thread
from hangtop.records.watch_spec import WatchSpec
from hangtop.state.run_state import RunState

NOW = 10_000.0
SPEC = WatchSpec(logs=("train.log",))
C10D = "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
CONNECTION = "/usr/lib/python3.11/multiprocessing/connection.py"
LOADER = "/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py"
THREADING = "/usr/lib/python3.11/threading.py"
USER = "/home/me/train.py"
STEP = Frame("train_step", USER, 20)


def thread(*frames: Frame, state: str = "S", wait: Any = "lock") -> Thread:
    return Thread("MainThread", (*frames, STEP), tid=None, state=state, wait=None if state == "R" else wait)


ALL_REDUCE = thread(Frame("all_reduce", C10D, 2810))
BROADCAST = thread(Frame("broadcast", C10D, 2700))
MEETING = thread(Frame("_new_process_group_helper", C10D, 1600), Frame("init_process_group", C10D, 1500))
LOCK = thread(Frame("load_shard", USER, 61))
PACK = thread(Frame("poll_flag", USER, 70), state="R")
SPIN = replace(PACK, owns_gil=True)
SAVE = thread(Frame("save_checkpoint", USER, 80), state="R")
DATA = thread(Frame("_try_get_data", LOADER, 1100), wait="poll")
BATON = thread(Frame("FileBaton.wait", "/venv/lib/python3.11/site-packages/torch/utils/file_baton.py", 50), wait="sleep")

IDLE = RecentActivity(seconds=10, samples=10, running_part=0.0, cpu_percent=0.0, io_b_s=0.0)
BUSY = RecentActivity(seconds=10, samples=10, running_part=0.9, cpu_percent=98.0, io_b_s=0.0)


def process(rank: int, recent: RecentActivity = IDLE, state: str = "S", **more: Any) -> Process:
    known = Process(100 + rank, 1.0, 7, 99, "python", "python train.py", state, role="rank", rank=rank, world=4, recent=recent)
    cpu = recent.cpu_percent
    return replace(known, **{"cpu_percent": cpu, "subtree_cpu_percent": cpu, "subtree_io_b_s": recent.io_b_s, **more})


def two_looks(first: dict[int, Thread], second: dict[int, Thread], now: float = NOW) -> tuple[StacksReading, ...]:
    """Three seconds apart, at the process of each rank."""
    return tuple(
        StacksReading(
            number,
            started_at=now - 5 + 3 * number,
            done=True,
            stacks=tuple(
                Stack(100 + rank, now, (main_thread,), rank=rank, started_ticks=7) for rank, main_thread in shown.items()
            ),
        )
        for number, shown in enumerate((first, second))
    )


def run(
    threads: dict[int, Thread],
    processes: tuple[Process, ...],
    *,
    silence_s: float = 200.0,
    stage: str = "train_loop",
    later: dict[int, Thread] | None = None,
    **state: Any,
) -> RunState:
    """A quiet run of these processes, looked at twice, three seconds apart."""
    plan = (StagePlan(stage, stage.replace("_", " "), steady=True),)
    log = LogReading(
        files=(LogFile("train.log", size_bytes=100),),
        bytes=100,
        plan=plan,
        stages=(StageEvent(stage, plan[0].title, "generic", 0, 10, at=NOW - 900),),
        last_output_at=NOW - silence_s,
    )
    known = RunState(
        log=log,
        ranks={
            member.rank: RankLog(member.rank, step=5, pid=member.pid, last_at=NOW - silence_s)
            for member in processes
            if member.rank is not None
        },
        procs=ProcessReading(processes=processes),
        looks=two_looks(threads, later or threads),
        health={"log": SourceHealth("log", read_at=NOW), "stacks": SourceHealth("stacks", read_at=NOW)},
        heard_at=NOW,
    )
    return replace(known, **state)


def four(odd: Thread, odd_process: Process | None = None, peers: Thread = ALL_REDUCE, **more: Any) -> RunState:
    """Ranks 0, 1 and 3 wait in a collective; rank 2 does something else."""
    threads = {0: peers, 1: peers, 2: odd, 3: peers}
    return run(threads, (process(0), process(1), odd_process or process(2), process(3)), **more)
