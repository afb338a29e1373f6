"""What stands beside the log in the recordings: 8 GPUs, a Ray cluster, and the stacks of the ranks, of the run in `make.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace
from verl import START

from hangtop.records.gpu import Gpu, GpuProcess, GpuReading
from hangtop.records.nccl import FlightDump, FlightGroup, NcclReading
from hangtop.records.process import Process, ProcessReading
from hangtop.records.ray.cluster import RayActor, RayApi, RayCluster, RayDriver, RayNode, RayReading
from hangtop.records.reading import Reading
from hangtop.records.stack import Excerpt, Frame, Stack, StacksReading, Thread

HOST = "n1"
G = 2**30
LIMIT_W = 700.0
RANK_PID = 133_950
DRIVER_PID = 133_701
TASK_RUNNER_PID = 133_842
DRIVER_SINCE = START - 6_290.0
SLOT_S = 10.0
FILLS_FROM = 1_768_125_950.0
"""When the engines of the run that starts began to load: 50 s before its recording."""
TORCH = "/opt/venv/lib/python3.11/site-packages/torch"


def gpu(index: int, at: float, util: float, power: float, *, used_g: float = 61.0, warm: float = 62.0, **more: object) -> Gpu:
    """A GPU whose numbers differ a little from those of its neighbours, and a little in time."""
    wave = (index * 7 + int(at / SLOT_S) * 5) % 4
    values: dict[str, object] = {
        "status": "ok", "read_at": at, "uuid": f"GPU-{index}", "name": "NVIDIA H100 80GB HBM3",
        "util_percent": min(100.0, util - (wave if 5 < util < 100 else 0)), "power_w": power + (index * 7 + wave * 5) % 17,
        "limit_w": LIMIT_W, "used_bytes": int((used_g + 0.1 * (index * 3 % 5)) * G), "total_bytes": 80 * G,
        "temperature_c": warm + index % 3,
        "processes": (GpuProcess(RANK_PID + index, int(used_g * G)),),
    }  # fmt: skip
    values.update(more)
    return Gpu(index, **values)  # type: ignore[arg-type]


def busy(index: int, at: float) -> Gpu:
    return gpu(index, at, 99, 600)


def spinning(index: int, at: float) -> Gpu:
    """In a collective: 100 % and 13 % of its power."""
    return gpu(index, at, 100, 84, warm=44.0)


def idle(index: int, at: float, **more: object) -> Gpu:
    return gpu(index, at, 0, 66, warm=38.0, **more)  # type: ignore[arg-type]


def filling(index: int, at: float) -> Gpu:
    """Weights on their way into it."""
    return gpu(index, at, 0, 78, used_g=4.0 + 0.4 * max(0.0, at - FILLS_FROM), warm=34.0)


def past(until: float, seconds: float, gpu_at: Callable[[int, float], Gpu] = busy) -> Iterable[Reading]:
    """The GPUs up to `until`, one reading a slot; those of a healthy run."""
    first = int((until - seconds) / SLOT_S)
    for slot in range(first, int(until / SLOT_S)):
        at = (slot + 0.5) * SLOT_S
        yield gpu_reading(at, tuple(gpu_at(index, at) for index in range(8)))


def standing(since: float, until: float, odd: int) -> Iterable[Reading]:
    """Rank `odd` does nothing on its GPU, the others wait for it busily."""
    for slot in range(int(since / SLOT_S), int(until / SLOT_S)):
        at = (slot + 0.5) * SLOT_S
        yield gpu_reading(at, tuple(idle(index, at) if index == odd else spinning(index, at) for index in range(8)))
    yield gpu_reading(until, tuple(idle(index, until) if index == odd else spinning(index, until) for index in range(8)))


def past_cpu(first: float, until: float, odd: int | None = None) -> Iterable[Reading]:
    """The ranks' processes, one reading a slot; rank `odd` does not compute."""
    for slot in range(int(first / SLOT_S), int(until / SLOT_S)):
        ranks = tuple(_process(rank, slot, computes=rank != odd) for rank in range(8))
        yield Reading("procs", HOST, (slot + 0.5) * SLOT_S, ProcessReading(processes=ranks))


def _process(rank: int, slot: int, *, computes: bool) -> Process:
    cpu = 99.0 - (7 * rank + 5 * slot) % 4 if computes else 2.0
    pid = RANK_PID + rank
    return Process(pid, 0.0, pid, 1, "python", "ray::WorkerDict", "R", role="rank", rank=rank, cpu_percent=cpu)


def gpu_reading(at: float, gpus: tuple[Gpu, ...]) -> Reading:
    return Reading("gpu", HOST, at, GpuReading(gpus=gpus, driver="570.124.06"))


def stuck_driver(at: float, lost: int, lost_at: float, silent_since: float) -> Reading:
    """One GPU is lost, and the driver has not answered for the others since then."""
    old = tuple(
        replace(busy(index, silent_since - 5), status="no answer", since=silent_since)
        if index != lost
        else replace(busy(index, lost_at), status="lost", since=lost_at, why="fell off the bus", xid=79, xid_at=lost_at)
        for index in range(8)
    )
    reading = GpuReading(gpus=old, driver="570.124.06", stuck_since=silent_since)
    return Reading("gpu", HOST, at, reading)


def ray(at: float, *, method: str, since: float, odd: tuple[int, str, float] | None = None, started: float = 6_180.0) -> Reading:
    """Task runner, eight ranks and two engines. `odd`: rank, its method, and since when."""
    runner = RayActor("TaskRunner", "running", id="a0", job="01", method="run", since=at - started, since_seen=False, pid=133_842)
    actors = [runner]
    for rank in range(8):
        doing, from_ = (odd[1], odd[2]) if odd is not None and rank == odd[0] else (method, since)
        actors.append(
            RayActor(
                "WorkerDict",
                "running",
                id=f"w{rank}",
                job="01",
                method=doing,
                since=from_,
                since_seen=False,
                pid=RANK_PID + rank,
                node="node1",
                host=HOST,
                rank=rank,
                world=8,
                gpus=(rank,),
                process_state="S",
                cpu_percent=2.0,
            )
        )
    actors += [
        RayActor(
            "LLMServer", "idle", id=f"e{n}", job="01", since=since, since_seen=False, pid=134_200 + n, node="node1", host=HOST
        )
        for n in range(2)
    ]
    node = RayNode("node1", HOST, head=True, local=True, moved_at=at, workers=11)
    driver = RayDriver("01", DRIVER_PID, "node1", "python -m verl.trainer.main_ppo", local=True, started_at=DRIVER_SINCE)
    api = RayApi("127.0.0.1:8265", "ok", since=at - started, gcs_ok=True, actors_at=at, version="2.60.0")
    cluster = RayCluster("session_2026-01-11", api=api, actors=tuple(actors), actors_total=11, drivers=(driver,), nodes=(node,))
    return Reading("ray", HOST, at, RayReading((cluster,)))


MINE = "/home/ada/gkd/fleet.py"
RAY = "/opt/venv/lib/python3.11/site-packages/ray/_private"
LOCKED = (
    Frame("Condition.wait", "/usr/lib/python3.11/threading.py", 327),
    Frame("ShardCache._wait_for_shard", MINE, 88),
    Frame("WorkerDict.update_actor", MINE, 61),
    Frame("WorkerDict.train_step", MINE, 12),
)
IN_ALL_REDUCE = (
    Frame("Stream.synchronize", f"{TORCH}/cuda/streams.py", 105),
    Frame("all_reduce", f"{TORCH}/distributed/distributed_c10d.py", 2810),
    Frame("WorkerDict.sync_weights", MINE, 43),
    Frame("WorkerDict.train_step", MINE, 22),
)
SAVES = (
    Frame("_save", f"{TORCH}/serialization.py", 850),
    Frame("save", f"{TORCH}/serialization.py", 619),
    Frame("WorkerDict.save_checkpoint", MINE, 104),
    Frame("WorkerDict.train_step", MINE, 25),
)
BARRIER = (
    Frame("barrier", f"{TORCH}/distributed/distributed_c10d.py", 4810),
    Frame("WorkerDict.save_checkpoint", MINE, 109),
    Frame("WorkerDict.train_step", MINE, 25),
)
ASKS = (
    Frame("get", f"{RAY}/worker.py", 2961),
    Frame("auto_init_wrapper", f"{RAY}/auto_init_hook.py", 22),
    Frame("TaskRunner.run", "/home/ada/gkd/main_ppo.py", 317),
)
"""Innermost frames first."""


def stacks(at: float, odd: int, ask: int, own: tuple[Frame, ...] = LOCKED, theirs: tuple[Frame, ...] = IN_ALL_REDUCE) -> Reading:
    """Rank `odd` waits for a lock in its own code, the others spin in all_reduce; or as `own` and `theirs` say."""
    ranks = tuple(_stack(RANK_PID + rank, at, own if rank == odd else theirs, rank) for rank in range(8))
    found = (*ranks, _stack(TASK_RUNNER_PID, at, ASKS), _stack(DRIVER_PID, at, ASKS[:2]))
    source = (
        "    def train_step(self, batch):",
        "        if self.shards.stale(batch.index):",
        "            self.update_actor(batch)",
        "        loss = self.actor.step(batch)",
    )
    other = ("        if self.step % self.sync_every == 0:", "            self.sync_weights()", "        return self.metrics()")
    excerpts = (Excerpt(MINE, 10, source, at=12), Excerpt(MINE, 21, other, at=22)) if ask > 1 and own is LOCKED else ()
    pids = tuple(stack.pid for stack in found)
    return Reading("stacks", HOST, at, StacksReading(ask, pids, found, excerpts, started_at=at, took_s=0.4, done=True))


def _stack(pid: int, at: float, frames: tuple[Frame, ...], rank: int | None = None) -> Stack:
    outer = tuple(Frame(f"main_loop_{n}", f"{RAY}/worker.py", 880 + n) for n in range(3)) if pid != DRIVER_PID else ()
    spins = frames in (IN_ALL_REDUCE, BARRIER, SAVES)
    wait, wchan = ("lock", "futex_wait_queue") if frames is LOCKED else (None, None if spins else "futex_wait_queue")
    thread = Thread("MainThread", (*frames, *outer), tid=pid, state="R" if spins else "S", wait=wait, wchan=wchan)
    return Stack(pid, at, (thread,), rank, pid, thread.state)


def collectives(at: float, odd: int) -> Reading:
    """The flight recorder's dumps: rank `odd` is one collective behind."""
    dumps = tuple(
        FlightDump(
            rank,
            f"/tmp/nccl_trace_rank_{rank}",
            at,
            (
                FlightGroup(
                    "0", "default_pg", 41_207 + (rank != odd), 41_207, "all_reduce" if rank != odd else "all_gather", "started"
                ),
            ),
        )
        for rank in range(8)
    )
    return Reading("nccl", HOST, at, NcclReading(at, dumps=dumps))
