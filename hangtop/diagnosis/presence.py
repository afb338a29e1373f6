"""Is anybody of the run on this machine? Only a look that could see everything proves that nobody is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hangtop.records.process import ProcessReading

if TYPE_CHECKING:
    from hangtop.diagnosis.case import Case

STDIN = "-"


def nobody_here(procs: ProcessReading | None) -> bool:
    """No process of the run lives here, none writes its log, and none is hidden from us."""
    if procs is None or procs.processes or procs.hidden or procs.note:
        return False
    return not any(writer.alive for writer in procs.writers)


def nobody_writes(case: Case) -> bool:
    """Nobody is here, and nobody elsewhere can be writing: on a network file system, and through a pipe, somebody may."""
    return nobody_here(case.procs) and not any(file.network or file.path == STDIN for file in case.log.files)
