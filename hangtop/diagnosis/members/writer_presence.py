"""Is anybody of the run on this machine? Only a look that could see everything proves that nobody is."""

from __future__ import annotations

from msgspec.structs import replace

from hangtop.records.process import ProcessReading
from hangtop.state.run_state import RunState

STDIN = "-"


def nobody_here(procs: ProcessReading | None) -> bool:
    """No process of the run lives here, none writes its log or may do so, and none is hidden from us or was not looked for."""
    if procs is None or procs.processes or procs.leads or procs.hidden or procs.note or not procs.sought:
        return False
    return not any(writer.alive for writer in procs.writers)


def without_leads(procs: ProcessReading) -> ProcessReading:
    """The reading without the processes that only may be the run's."""
    return replace(procs, leads=(), note=None) if procs.leads else procs


def nobody_writes(state: RunState) -> bool:
    """Nobody is here, and nobody elsewhere can be writing: on a network file system, and through a pipe, somebody may."""
    files = () if state.log is None else state.log.files
    return nobody_here(state.procs) and not any(file.network or file.path == STDIN for file in files)
