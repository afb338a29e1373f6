"""Slurm's tasks are no children of `srun`: `slurmstepd` starts them, and says in its title which job and step it serves. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.table import Stat

SRUN_PORT = "SLURM_SRUN_COMM_PORT"
"""In the environment of each task: where the `srun` that started it listens."""
STEP = re.compile(r"^slurmstepd: \[(?P<job>\d+)\.(?P<step>[^\]]+)\]")


def step_daemons(stats: Mapping[int, Stat], members: Collection[int]) -> list[int]:
    """All step daemons of this machine, when there is an `srun` among the members."""
    if not any(stats[pid].name == "srun" for pid in members):
        return []
    return [pid for pid, stat in stats.items() if stat.name.startswith("slurmstepd")]


def steps_of(facts: Mapping[int, ProcessFacts], daemons: Collection[int], members: Collection[int]) -> dict[int, str]:
    """The steps by step daemon, of the jobs of the members' `srun`. The batch step is left out: it runs the `srun`."""
    jobs = {facts[pid].environ.get("SLURM_JOB_ID") for pid in members if pid in facts and facts[pid].name == "srun"} - {None}
    titles = {pid: STEP.match(" ".join(facts[pid].command)) for pid in daemons if pid in facts}
    return {
        pid: title["step"]
        for pid, title in titles.items()
        if title and title["job"] in jobs and title["step"] not in ("batch", "extern", "interactive")
    }


def launched_by(
    steps: Mapping[int, str], ports_of_tasks: Mapping[int, Collection[str]], listens: Callable[[], Collection[int]]
) -> list[int]:
    """The step daemons whose tasks a member started: all, if there is one step. Of several, which may be other runs or shells of
    the job, those whose tasks name a port of a member (`SLURM_SRUN_COMM_PORT`, srun(1)).

    `ports_of_tasks`: named by the tasks of each daemon; `listens`: gives the ports of the members' `srun`, if needed.
    """
    if len(set(steps.values())) < 2:
        return list(steps)
    ports = {str(port) for port in listens()}
    return [pid for pid in steps if not ports.isdisjoint(ports_of_tasks.get(pid, ()))]
