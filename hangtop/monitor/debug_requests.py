"""When are the debug servers of PyTorch asked? When the run is quiet for so long that a verdict may be needed, as for stacks,
and after these: then it is known whose stack nobody else reads. Pure; the edges ask."""

from __future__ import annotations

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.monitor.request_pace import AGAIN_S, AT_PART, SECOND_LOOK_S
from hangtop.records.ask import KnownRank, TorchDebugAsk

SOURCE = "torchdebug"
TWO_LOOKS = 2
"""Tell moved from still."""


def debug_request(snapshot: Snapshot) -> TorchDebugAsk | None:
    """The question to be asked now, or none."""
    told = snapshot.state.torch_debug
    if told is None or snapshot.silence_s is None or snapshot.silence_s < AT_PART * snapshot.quiet_s or _stacks_to_come(snapshot):
        return None
    pause_s = SECOND_LOOK_S if _looks_given(snapshot) < TWO_LOOKS else AGAIN_S
    if told.ask and told.at >= _since(snapshot) and snapshot.now - told.at < pause_s:
        return None
    return TorchDebugAsk(int(snapshot.now * 1000), _known(snapshot))


def debug_to_come(snapshot: Snapshot) -> bool:
    """Whether the servers are still to be asked in this silence; not where there are none, or their source hangs."""
    health, told = snapshot.state.health.get(SOURCE), snapshot.state.torch_debug
    if health is None or health.absent is not None or health.problem is not None or health.is_late:
        return False
    if told is None:  # whether there are any is told once the processes of the run are known
        procs = snapshot.state.health.get("procs")
        return procs is not None and procs.problem is None and procs.absent is None
    if not told.ask or told.at < _since(snapshot):
        return True
    return bool(told.pids) and _looks_given(snapshot) < TWO_LOOKS


def _since(snapshot: Snapshot) -> float:
    return snapshot.now - (snapshot.silence_s or 0.0)


def _stacks_to_come(snapshot: Snapshot) -> bool:
    """Whether the source of stacks has not looked in this silence, and will."""
    health = snapshot.state.health.get("stacks")
    if health is None or health.problem is not None or health.absent is not None or not snapshot.pids:
        return False
    return not any(look.done and look.started_at >= _since(snapshot) for look in snapshot.state.looks)


def _looks_given(snapshot: Snapshot) -> int:
    """How many looks of this silence hold stacks that the servers gave; as many as are needed where they need give none."""
    told = snapshot.state.torch_debug
    if told is None or not told.pids:
        return 0 if told is None or not told.ask else TWO_LOOKS
    looks = (look for look in snapshot.state.looks if look.started_at >= _since(snapshot))
    return sum(any(stack.pid in told.pids and stack.threads for stack in look.stacks) for look in looks)


def _known(snapshot: Snapshot) -> tuple[KnownRank, ...]:
    """The ranks whose processes are known. One whose stack the servers gave is asked again: another source cannot read it."""
    told = snapshot.state.torch_debug
    given = () if told is None else told.pids
    read = {stack.pid for look in snapshot.state.looks for stack in look.stacks if stack.threads}
    processes = ((rank.rank, rank.process) for rank in snapshot.ranks if rank.process is not None and not rank.process.exited)
    return tuple(
        KnownRank(number, process.pid, process.start_ticks, process.pid in read and process.pid not in given)
        for number, process in processes
    )
