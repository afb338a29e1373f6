"""Whether the run that is watched is one that the guard may end or start: hangtop started it, or the policy names its command."""

from __future__ import annotations

import os

from hangtop.diagnosis.snapshot import Snapshot
from hangtop.guard.policy import HARMFUL, Policy
from hangtop.records.launch import Launch
from hangtop.records.nodes import pid_text
from hangtop.records.watch_spec import WatchSpec, plain_file
from hangtop.system.processes.linux import read_stat
from hangtop.system.stores import launch_store

NOT_OURS = "the policy ends or starts a run that hangtop did not start: give its command in restart.command, or after --"


def launched(spec: WatchSpec) -> Launch | None:
    """How hangtop started the run with this log the last time."""
    log = plain_file(spec.logs)
    return None if log is None else launch_store.latest(os.path.realpath(log))


def lives(known: Launch) -> bool:
    """Whether that very process is there, by its start time."""
    stat = read_stat(known.pid)
    return known.exit_code is None and stat is not None and stat.start_ticks == known.start_ticks and stat.state not in "ZX"


def may_harm(spec: WatchSpec, policy: Policy, snapshot: Snapshot) -> str:
    """Why the run may not be ended or started at this moment; empty if it may."""
    if policy.restart.command:
        return ""
    known = launched(spec)
    if known is None:
        return NOT_OURS
    living = [process.pid for process in snapshot.procs.processes if not process.exited]
    if living and not lives(known):
        return f"{pid_text(living[0])} is of a run that hangtop did not start: it was left alone"
    return ""


def refusal(spec: WatchSpec, policy: Policy, *, starts: bool) -> str:
    """Why this policy can never be carried out here; empty if it can. `starts`: the guard itself starts the run."""
    deeds = {deed for when in policy.when for deed in when.deeds}
    if not deeds & HARMFUL or policy.restart.command or starts or launched(spec) is not None:
        return ""
    return NOT_OURS
