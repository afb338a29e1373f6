"""The program of which the last traceback of a log begins: its outermost frame is the module that the interpreter was given.

Where no living process runs that script, and each that lives has lost its parent, the script's process is gone: whoever might
have caught what it wrote would be the parent of one that is left, or run it itself. Pure."""

from __future__ import annotations

from pathlib import PurePath

from hangtop.common.late_pattern import late_pattern
from hangtop.diagnosis.facts.caught_errors import HEAD, belongs, without_ignored
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.records.log import Finding
from hangtop.records.process import Process

_PROGRAM = late_pattern(r'^\s*File "(?P<file>[^"<>]+\.py)", line \d+, in <module>\s*$')
OF_A_PACKAGE = "__main__"


def script_is_gone(snapshot: Snapshot, finding: Finding, here: tuple[Process, ...], known: set[int]) -> bool:
    """`here`: those that run the program now. `known`: the pids of all that live."""
    script = _script_of_last(snapshot, finding)
    if script is None or not here or not snapshot.is_quiet:
        return False
    if any(member.alive for member in (*snapshot.members, *snapshot.aside, *snapshot.beside)):
        return False
    return not any(process.ppid in known or _runs(process, script) for process in here)


def _script_of_last(snapshot: Snapshot, finding: Finding) -> str | None:
    """The name of the script, if the traceback is the last thing in the log, and the message is of it."""
    lines = [line for line in without_ignored(snapshot.state.tail) if line.text.strip() and line.file == finding.file]
    head = next((place for place in range(len(lines) - 2, -1, -1) if HEAD.search(lines[place].text)), None)
    if head is None or finding.last_offset < lines[head].offset or lines[head].rank is not None:
        return None
    found = _PROGRAM.match(lines[head + 1].text)
    behind = [line for line in lines[head + 1 :] if not belongs(line.text)]
    return PurePath(found["file"]).stem if found is not None and len(behind) == 1 and behind[0] is lines[-1] else None


def _runs(process: Process, script: str) -> bool:
    """Whether a word of its command may be that script, or a module of that name."""
    words = process.command.split()
    names = {PurePath(word).stem if word.endswith(".py") else word.rpartition(".")[2] for word in words}
    return script == OF_A_PACKAGE or script in names or not process.command
