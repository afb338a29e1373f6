"""A process that is stopped until a script comes to the command that lets it go on, as a rank that is paused while checkpoints
are copied. Pure.

The command alone proves nothing: the script may itself stand before it. One that goes from command to command, or waits for what
works, will come to it."""

from __future__ import annotations

from hangtop.diagnosis.facts.other_side import named, side_of
from hangtop.diagnosis.facts.wait_moves import Watch
from hangtop.records.watched_waits import AGAIN, WatchedProcess


def let_go_on(watch: Watch, pid: int) -> str | None:
    """Who will let it go on, and how, as the rest of a sentence after "until"; for no longer than a run may rest on purpose."""
    if watch.reading.started_at + watch.reading.seconds > watch.pauses_end_at:
        return None
    told = (each for each in watch.reading.continuers if each.stopped == pid and each.pid in watch.processes)
    comes = (each for each in told if _goes_on(watch, watch.processes[each.pid]))
    return next((f"{named(watch.processes[each.pid])}, which goes on, comes to `{each.command}`" for each in comes), None)


def _goes_on(watch: Watch, shell: WatchedProcess) -> bool:
    if shell.state in "TtZX" or not shell.threads:
        return False
    if shell.woken_in + shell.changed_in >= AGAIN:
        return True
    side = side_of(watch, shell, shell.threads[0])
    return side is not None and side.kind == "works"
