"""A message is not a death. What became of the process that wrote a message that ends runs: it lives, it died, nothing tells.

Facts only: which processes of the run live, since when, whether each ever wrote a byte, which ranks have none any more. The text
of a message never tells whether its writer caught the error and went on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from hangtop.diagnosis.facts.missing_ranks import missing_ranks_of
from hangtop.diagnosis.facts.unseen_nodes import unseen_nodes
from hangtop.diagnosis.members.rank_numbering import NO_MEMBERS, serves
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.diagnosis.status.member_status import MemberStatus, works
from hangtop.records.log import Finding
from hangtop.records.nodes import is_named
from hangtop.records.process import Process, ProcessReading, Writer
from hangtop.records.stack import Frame

Fate = Literal["lives", "died", "unknown"]

STAMP_S = 1.0
"""The times in most logs tell whole seconds."""
SOON_S = 10.0
"""A launcher needs a moment to end the ranks that are left, and a dying process to print and to leave."""
STARTERS = ("launcher", "ray daemon")
"""They start what runs and tell how it ended; an error of a rank is not theirs."""
ENDING = (("_shutdown", "threading.py"), ("_exit_function", "util.py"), ("_run_exitfuncs", "atexit.py"))
"""Python functions that run when the main program has returned or raised (threading.py, multiprocessing/util.py)."""

_NAMED = re.compile(r"\bpid[ =:]{1,3}(\d+)|\bline \d+: +(\d+) ", re.IGNORECASE)
"""`(pid: 4242)` of torchrun, `(WorkerDict pid=4242)` of Ray, `run.sh: line 3:  4242 Killed` of a shell."""


def living(snapshot: Snapshot) -> tuple[Process, ...]:
    """The processes of the run that live, on all watched machines."""
    readings = tuple(snapshot.state.processes.values()) or (snapshot.procs,)
    return tuple(process for reading in readings for process in reading.processes if not process.exited)


def at_work(snapshot: Snapshot) -> tuple[Process, ...]:
    """Those of them that run the program, rather than start it or pass on what it writes."""
    return tuple(process for process in living(snapshot) if process.role not in STARTERS and not serves(process))


def fate_of(snapshot: Snapshot, finding: Finding) -> Fate:
    """What became of the process that wrote this message, or that it names. Unknown where no process of the run is seen."""
    here = living(snapshot)
    if not here:
        return "unknown"
    if _driver_lives(snapshot, here, finding):
        return "lives"
    pid = _named(finding)
    if pid is not None and is_named(pid, (process.pid for process in here)):
        return "lives"
    if pid is not None and not unseen_nodes(snapshot):
        return "lives" if _tells_of_a_helper(snapshot, finding) else "died"
    if _left_its_log(snapshot, finding):
        return "died"
    if finding.rank is not None and (fate := _of_rank(snapshot, finding, finding.rank)) is not None:
        return fate
    if any(_may_have_written(snapshot, process, finding) for process in at_work(snapshot)):
        return "died" if finding.rank is None and somebody_died(snapshot) else "lives"
    return "died"


def _tells_of_a_helper(snapshot: Snapshot, finding: Finding) -> bool:
    """Whether the message names a dead process that was none of the ranks, such as a data worker, and comes from one that lives:
    who lost a helper may start another. A shell or a launcher tells so of the run itself, and Ray of its workers."""
    by_itself = finding.rank is None and snapshot.log.ray is None and (found := _NAMED.search(finding.text)) and found[1]
    if not by_itself or somebody_died(snapshot):
        return False
    return any(_may_have_written(snapshot, process, finding) for process in at_work(snapshot))


def _driver_lives(snapshot: Snapshot, here: Iterable[Process], finding: Finding) -> bool:
    """Whether the driver of a run on Ray was there before the message, and still is. Each error and each loss of a worker is
    raised where the call was made, at last in the driver: if nobody catches it, that ends. Ray may start the actor again."""
    drivers = {tie.pid for tie in snapshot.procs.ray if tie.kind == "drives" and not tie.gone}
    return any(process.pid in drivers and _is_older(snapshot, process, finding) for process in here)


def _named(finding: Finding) -> int | None:
    """The pid that the message names, of this machine or of a named node."""
    found = _NAMED.search(finding.text)
    return None if found is None or "ip=" in finding.text else int(found[1] or found[2])


def _left_its_log(snapshot: Snapshot, finding: Finding) -> bool:
    """Whether the message stands in a log that nobody has open, of several in which all others that write hold one of their own,
    and nothing goes on. A program that opens its log anew for each line does so in each of them; a log of before is older."""
    procs, files = snapshot.procs, snapshot.log.files
    if (
        procs.hidden
        or not snapshot.is_quiet
        or not finding.file < len(files)
        or any(member.alive for member in _everybody(snapshot))
    ):
        return False
    own = files[finding.file]
    held = [{file.path for file in files if _is_file(path, file.path)} for path in _written(procs)]
    known = bool(held) and all(held) and own.network is None
    return known and own.path not in set().union(*held) and (own.modified_at or 0.0) >= (procs.began_at or 0.0)


def _everybody(snapshot: Snapshot) -> tuple[MemberStatus, ...]:
    return (*snapshot.members, *snapshot.aside, *snapshot.beside)


def _written(procs: ProcessReading) -> list[str]:
    """The real paths that living writers hold open."""
    return [path for writer in procs.writers if writer.alive for path in writer.paths]


def _is_file(real: str, path: str) -> bool:
    """Whether this real path may be that of a watched file, which may be told from a working folder."""
    return real == path or real.endswith("/" + path.removeprefix("./"))


def _of_rank(snapshot: Snapshot, finding: Finding, rank: int) -> Fate | None:
    own = [member for member in snapshot.members if member.rank == rank]
    if any(member.status == "gone" for member in own):
        return "died"
    if own:
        return "lives" if any(_is_older(snapshot, member.process, finding) for member in own) else "died"
    return "died" if rank in _missing(snapshot) else None


def somebody_died(snapshot: Snapshot) -> bool:
    """A rank of the run ended otherwise than with exit code 0, or has no process here while others have."""
    gone = [member for member in snapshot.members if member.status == "gone" and member.process.exit_code != 0]
    return bool(gone) or bool(_missing(snapshot))


def _missing(snapshot: Snapshot) -> tuple[int, ...]:
    worlds = [member.process.world for member in snapshot.members if member.process.world]
    return missing_ranks_of(snapshot, snapshot.members, max(worlds, default=None))


def _may_have_written(snapshot: Snapshot, process: Process, finding: Finding) -> bool:
    """It was there when the message was written, and has ever written anything."""
    return process.wrote_bytes != 0 and _is_older(snapshot, process, finding)


def _is_older(snapshot: Snapshot, process: Process, finding: Finding) -> bool:
    """Whether the process may have begun before the last time that the message was written."""
    latest = last_written_by(snapshot, finding)
    return latest is None or process.started_at <= latest + STAMP_S


def last_written_by(snapshot: Snapshot, finding: Finding) -> float | None:
    """The latest time at which the message can have come last."""
    once = finding.written.not_after if finding.count == 1 else finding.last_at
    known = [at for at in (once, snapshot.log.last_output_at) if at is not None]
    return min(known, default=None)


def goes_on(snapshot: Snapshot, finding: Finding) -> bool:
    """Whether the run goes on after a death: what died was started again, and works or writes; or its peers write on and on; or
    who started it said since then for how long it waits, and that is not over."""
    if _waits_as_said(snapshot, finding) or _was_replaced(snapshot, finding):
        return True
    latest, here = last_written_by(snapshot, finding), at_work(snapshot)
    if latest is None or not here:
        return False
    anew = [process for process in here if process.started_at > latest]
    if len(anew) == len(here):
        return any(works(process) or (process.wrote_bytes or 0) > 0 for process in anew)
    return not snapshot.is_quiet and any((rank.step_at or 0.0) > latest + SOON_S for rank in snapshot.state.ranks.values())


def _was_replaced(snapshot: Snapshot, finding: Finding) -> bool:
    """Whether the message names a process and its rank, and that rank lives as another process: a launcher that starts the ranks
    again (torchrun with --max-restarts) tells of each death."""
    pid = _named(finding)
    here = [process for process in at_work(snapshot) if process.role == "rank" and process.rank == finding.rank]
    return pid is not None and finding.rank is not None and bool(here) and not is_named(pid, (process.pid for process in here))


def _waits_as_said(snapshot: Snapshot, finding: Finding) -> bool:
    """Whether a wait is announced that is not over, and something was said after the message: the dead announce nothing."""
    until = snapshot.log.announced_until
    if until is None or snapshot.now > until or not any(writer.alive for writer in snapshot.procs.writers):
        return False
    behind = (line for line in snapshot.state.tail if line.file == finding.file and line.offset > finding.last_offset)
    return any(line.text.strip() for line in behind)


def present_writers(procs: ProcessReading) -> tuple[Writer, ...]:
    """The writers of the attempt that runs now, or ran last: how those of an earlier one ended says nothing of it."""
    began_at = procs.began_at or 0.0
    return tuple(writer for writer in procs.writers if writer.gone_at is None or writer.gone_at >= began_at)


def ended_well(snapshot: Snapshot) -> bool:
    """Every process that was seen to write the log has ended with exit code 0, and no rank otherwise. A shell's code tells
    nothing: it is that of its last command."""
    writers = present_writers(snapshot.procs)
    well = all(writer.exit_code == 0 and not writer.alive and writer.name not in NO_MEMBERS for writer in writers)
    return bool(writers) and well and not somebody_died(snapshot)


def ends_alone(members: Iterable[MemberStatus]) -> MemberStatus | None:
    """A member whose main program is over: it only waits for a thread or a child that never ends."""
    return next((member for member in members if is_ending(member.frames)), None)


def is_ending(frames: Iterable[Frame]) -> bool:
    """Whether a thread with these frames is the main one of a program that is over."""
    return any((frame.function, frame.file.rpartition("/")[2]) in ENDING for frame in frames)
