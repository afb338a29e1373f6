"""Random forests of processes, and what no plan and no verdict over them may do. The bytes of an example seed the forest."""

from __future__ import annotations

import random
import zlib

from hangtop.actions.plans.clean_plan import clean_plan
from hangtop.actions.plans.stop_plan import stop_plan
from hangtop.diagnosis.judge import judge
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.records import wire
from hangtop.records.log import LogFile, LogReading
from hangtop.records.plan import LeftoversReading, OwnProcess, Plan, Refusal
from hangtop.records.process import Process, ProcessReading, ProcessRole, Writer
from hangtop.records.reading import Reading
from hangtop.records.watch_spec import WatchSpec
from hangtop.remedies.advise import advice
from hangtop.state.run_state import RunState, fold

NOW = 1_768_000_000.0
ME = OwnProcess(pid=50, ancestors=frozenset({1, 40, 45}), uid=1000)
ROLES: tuple[ProcessRole, ...] = (
    "launcher", "rank", "data worker", "compiler", "engine core", "ray daemon", "ray worker", "other",
)  # fmt: skip
COMMANDS = (
    "python train.py", "torchrun train.py", "bash run.sh", "ray::Trainer.fit", "ray::IDLE", "kubectl logs -f x", "ssh n1 train",
    "tee train.log", "hangtop --log train.log", "", "\x1b]0;x\x07", "python -m torch.distributed.run --max-restarts=3 t.py",
)  # fmt: skip


def forest(chance: random.Random, among: range = range(1, 70)) -> tuple[Process, ...]:
    """Parents before children; pids of hangtop and its ancestors, of other users, and parents that are not there come too."""
    pids = sorted(chance.sample(among, chance.randint(1, 30)))
    return tuple(_process(pid, chance.choice([0, 1, 40, 50, 99, *pids[:place]]), chance) for place, pid in enumerate(pids))


def _process(pid: int, ppid: int, chance: random.Random) -> Process:
    rank = chance.choice([None, None, 0, 1, 2, 7])
    return Process(
        pid=pid,
        started_at=NOW - chance.choice([0.0, 5.0, 1e3, 1e6]),
        start_ticks=pid * 100,
        ppid=ppid,
        name=chance.choice(["python", "bash", "kubectl", "pt_main_thread", "", "\x1b[31m"]),
        command=chance.choice(COMMANDS),
        state=chance.choice("RSDTtZXI?"),
        role=chance.choice(ROLES),
        rank=rank,
        world=chance.choice([None, 2, 8]),
        uid=chance.choice([None, 0, 1000, 1000, 1000]),
        exit_code=chance.choice([None, 0, 1, -9]),
        threads=chance.choice([0, 1, 400]),
        cpu_percent=chance.choice([None, 0.0, 99.0]),
        wchan=chance.choice([None, "futex_wait_queue", "nfs_wait"]),
    )


def state_of(chance: random.Random) -> RunState:
    """A silent log, and the forest as the run's processes."""
    trees = forest(chance)
    writers = [
        Writer(
            each.pid, each.started_at, each.name, each.command, each.start_ticks, ("/x/train.log",), copies=chance.random() < 0.2
        )
        for each in chance.sample(trees, min(len(trees), chance.randint(0, 3)))
    ]
    dead = [
        Writer(
            3, NOW - 90.0, "python", "python t.py", 5, alive=False, gone_at=NOW - 9.0, exit_code=chance.choice([None, 0, 1, -9])
        )
    ]
    procs = ProcessReading(
        writers=(*writers, *(dead if chance.random() < 0.3 else [])),
        processes=trees,
        ended=tuple(_process(pid, 1, chance) for pid in chance.sample(range(70, 80), chance.randint(0, 3))),
        taken=tuple(chance.sample([each.pid for each in trees], chance.randint(0, 1))),
        orphans=forest(chance, range(100, 170)) if chance.random() < 0.5 else (),
        sought=True,
        hidden=chance.choice([0, 0, 3]),
    )
    silent_s = chance.choice([1.0, 200.0, 5_000.0])
    log = LogReading((LogFile("/x/train.log", size_bytes=9),), last_output_at=NOW - silent_s, last_line="step 1/9")
    state = RunState()
    for value in (log, procs):
        state = fold(state, wire.decode_reading(wire.encode(Reading("any", "n1", NOW, value))))
    return state


def judged(data: bytes) -> None:
    """A verdict and its advice come, whatever the forest; a log that is only copied accuses nobody here."""
    state, spec = state_of(random.Random(zlib.crc32(data))), WatchSpec(logs=("/x/train.log",))
    snapshot = take_snapshot(state, spec, NOW)
    verdict = judge(snapshot)
    advice(snapshot, verdict)
    if snapshot.copier is not None and any(culprit.pid is not None for culprit in verdict.culprits):
        raise AssertionError(f"a copier is accused: {verdict.headline}")


def planned(data: bytes) -> None:
    """No plan holds pid 1, hangtop, what it runs in, another user's process, or one that is not of the forest."""
    chance = random.Random(zlib.crc32(data))
    state = state_of(chance)
    chosen = chance.choice([{}, {"rank": 0}, {"pid": chance.randint(1, 70)}])
    made = (stop_plan(state, ME, **chosen), clean_plan(state, LeftoversReading(1), ME, NOW, 600.0))
    assert state.procs is not None
    known = {(each.pid, each.start_ticks): each for each in (*state.procs.processes, *state.procs.orphans)}
    for plan in made:
        if isinstance(plan, Refusal):
            _check(bool(plan.why), "a refusal says why")
            continue
        assert isinstance(plan, Plan)
        places = {target.pid: place for place, target in enumerate(plan.targets)}
        _check(len(places) == len(plan.targets), "each target once")
        _check(places.keys().isdisjoint({0, 1, ME.pid, *ME.ancestors}), "pid 1, hangtop and what it runs in are spared")
        for target in plan.targets:
            process = known.get((target.pid, target.start_ticks))
            _check(process is not None, f"pid {target.pid} is of the forest")
            _check(process is None or process.uid == ME.uid, f"pid {target.pid} is ours")
            _check(
                plan.signal != "" or process is None or places.get(process.ppid, 99) > places[target.pid], "children come first"
            )


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)
