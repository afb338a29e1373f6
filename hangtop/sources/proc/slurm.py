"""Slurm's tasks are no children of `srun`: `slurmstepd` starts them, and says in its title which job and step it serves. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from hangtop.sources.proc.facts import Facts
from hangtop.sources.proc.table import Stat

STEP = re.compile(r"^slurmstepd: \[(?P<job>\d+)\.(?P<step>[^\]]+)\]")


def step_daemons(stats: Mapping[int, Stat], members: Collection[int]) -> list[int]:
    """All step daemons of this machine, when there is an `srun` among the members."""
    if not any(stats[pid].name == "srun" for pid in members):
        return []
    return [pid for pid, stat in stats.items() if stat.name.startswith("slurmstepd")]


def steps_of(facts: Mapping[int, Facts], daemons: Collection[int], members: Collection[int]) -> list[int]:
    """The step daemons of the jobs that an `srun` among the members belongs to. The batch step is the script that runs it."""
    jobs = {facts[pid].environ.get("SLURM_JOB_ID") for pid in members if pid in facts and facts[pid].name == "srun"} - {None}
    titles = {pid: STEP.match(" ".join(facts[pid].command)) for pid in daemons if pid in facts}
    return [pid for pid, title in titles.items() if title and title["job"] in jobs and title["step"] not in ("batch", "extern")]
