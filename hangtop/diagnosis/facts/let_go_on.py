"""A process that is stopped until a script comes to the command that lets it go on, as a rank that is paused while checkpoints
are copied. Pure.

The command alone proves nothing: the script may itself stand before it. One that goes from command to command, or waits for what
works, will come to it."""

from __future__ import annotations

from collections.abc import Collection

from hangtop.diagnosis.facts.long_sleeps import sleep_of
from hangtop.diagnosis.facts.other_side import computes, named, side_of
from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.records.watched_waits import AGAIN, WatchedProcess
from hangtop.state.run_state import RunState


def let_go_on(watch: Watch, pid: int) -> str | None:
    """Who will let it go on, and how, as the rest of a sentence after "until"; for no longer than a run may rest on purpose."""
    if watch.reading.started_at + watch.reading.seconds > watch.pauses_end_at:
        return None
    own = watch.processes.get(pid)
    others = (*watch.reading.beside, *((own.ppid,) if own is not None else ()))
    program = next((watch.processes[each] for each in others if each in watch.continues and each in watch.processes), None)
    if program is not None and _goes_on(watch, program):
        return f"{named(program)}, which goes on, lets it go on"
    told = (each for each in watch.reading.continuers if each.stopped == pid and each.pid in watch.processes)
    comes = (each for each in told if _goes_on(watch, watch.processes[each.pid]))
    return next((f"{named(watch.processes[each.pid])}, which goes on, comes to `{each.command}`" for each in comes), None)


def pauser_pids(state: RunState, stopped: Collection[int]) -> tuple[int, ...]:
    """Who may have stopped these, and let them go on later: those of the same job beside them, and their parents. Their stacks
    tell. A stranger in a folder of the run may do so to others."""
    if state.waits is None or not stopped:
        return ()
    known = {process.pid: process for process in state.waits.processes}
    above = (known[pid].ppid for pid in stopped if pid in known)
    return tuple(pid for pid in dict.fromkeys((*state.waits.beside, *above)) if pid in known)


def _goes_on(watch: Watch, process: WatchedProcess) -> bool:
    if process.state in "TtZX" or not process.threads:
        return False
    if process.woken_in + process.changed_in >= AGAIN or computes(watch, process):
        return True
    sleep = sleep_of(watch, process, process.threads[0])
    if sleep is not None:
        return sleep.is_pause
    side = side_of(watch, process, process.threads[0])
    return side is not None and side.kind == "works"
