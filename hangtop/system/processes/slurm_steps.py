"""Slurm's tasks are no children of `srun`: `slurmstepd` starts them, and says in its title which job and step it serves."""

from __future__ import annotations

import re
from collections.abc import Collection

from hangtop.system.network.connections import listening_ports
from hangtop.system.processes.environments import ProcessFactTable
from hangtop.system.processes.table import ProcessTable
from hangtop.system.processes.tree import Children, descendants

SRUN_PORT = "SLURM_SRUN_COMM_PORT"
"""In the environment of each task: where the `srun` that started it listens."""
STEP = re.compile(r"^slurmstepd: \[(?P<job>\d+)\.(?P<step>[^\]]+)\]")


def step_daemons(
    table: ProcessTable, book: ProcessFactTable, members: Collection[int], children: Children, now: float
) -> list[int]:
    """The step daemons whose tasks a member's `srun` started: all of its job, if there is one step. Of several, which may be
    other runs or shells of the job, and of an `srun` that got its job itself and so has no number of it, those whose tasks name a
    port of a member (`SLURM_SRUN_COMM_PORT`, srun(1)). The batch step is left out: it runs the `srun`."""
    sruns = [pid for pid in members if table.stats[pid].name == "srun"]
    if not sruns:
        return []
    facts = book.of((*sruns, *(pid for pid, stat in table.stats.items() if stat.name.startswith("slurmstepd"))), now)
    jobs = {facts[pid].environ.get("SLURM_JOB_ID") for pid in sruns}
    titles = {pid: STEP.match(" ".join(known.command)) for pid, known in facts.items()}
    steps = {
        pid: title["step"]
        for pid, title in titles.items()
        if title and (None in jobs or title["job"] in jobs) and title["step"] not in ("batch", "extern", "interactive")
    }
    if None not in jobs and len(set(steps.values())) < 2:
        return list(steps)
    ports = {str(port) for port in listening_ports(table, sruns)}
    tasks = {daemon: book.of(descendants(children, daemon), now).values() for daemon in steps}
    return [daemon for daemon, below in tasks.items() if any(task.environ.get(SRUN_PORT) in ports for task in below)]
