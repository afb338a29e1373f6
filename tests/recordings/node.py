"""The machines of the recorded runs: who writes the log, the tree of processes, memory, and how the sources are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from verl import HOST, START

from hangtop.records.health import Heartbeat, SourceHealth
from hangtop.records.host import HostReading
from hangtop.records.process import Process, ProcessReading, RayTie, Writer
from hangtop.records.reading import Reading
from hangtop.system.processes.tree import with_subtrees

NOTHING: Mapping[str, object] = MappingProxyType({})
DRIVER_PID, RAYLET_PID = 133_701, 101_377
TIE = RayTie("drives", "/tmp/ray/session_2026-01-11", DRIVER_PID, START - 6_290, DRIVER_PID, "python", "01")


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
    on_ray: bool = False,
) -> Reading:
    """`on_ray`: what it starts runs in a cluster that was there before, as children of its raylet."""
    gone_at = None if alive else at - 60
    who = Writer(
        pid=DRIVER_PID,
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
        ProcessReading(
            (who,),
            processes=tree(at, behind=behind, method=method, peers=peers, work=work, on_ray=on_ray) if alive else (),
            ray=(TIE,) if on_ray else (),
        ),
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
    at: float,
    *,
    behind: int | None = None,
    method: str = "generate",
    peers: str = "wait",
    work: Mapping[str, object] = NOTHING,
    on_ray: bool = False,
) -> tuple[Process, ...]:
    """Driver, 8 Ray workers with 4 data loader workers each, 2 engine cores. Rank `behind` waits in a lock, or does `work`; its
    `peers` wait for it or spin."""
    parent = RAYLET_PID if on_ray else DRIVER_PID
    found = [
        process(DRIVER_PID, 1, "python -m verl.trainer.main_ppo", cpu=0.0, rss_g=1.2, threads=61, role="launcher"),
        process(133_842, parent, "ray::TaskRunner.run", cpu=2.0, rss_g=4.1, threads=88, role="ray worker"),
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
                parent,
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
    found += [process(134_200 + n, parent, "VLLM::EngineCore", cpu=0.5, rss_g=5.9, role="engine core") for n in range(2)]
    return with_subtrees(found)


def machine(at: float) -> Reading:
    host = HostReading(cores=128, load_1m=9.4, memory_bytes=1_945 * 2**30, available_bytes=1_560 * 2**30, oom_kills=0)
    return Reading("procs", HOST, at, host)


def node_tree(node: int) -> tuple[Process, ...]:
    """A launcher and 8 ranks that wait, as on each node of a big run."""
    found = [process(79_000, 1, "torchrun --nnodes 32 --nproc-per-node 8 pretrain_gpt.py", cpu=0.0, rss_g=0.9, role="launcher")]
    for rank in range(8 * node, 8 * node + 8):
        numbers = {"rank": rank, "local_rank": rank % 8, "world": 256}
        found.append(process(80_000 + rank, 79_000, "python pretrain_gpt.py", cpu=3.0, rss_g=88.0, role="rank", **numbers))
    return with_subtrees(found)
