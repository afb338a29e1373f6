"""Which rank a process has by its environment: the innermost number counts, and the shell of a batch script has none.

It is sent to other nodes as well (`hangtop.probe.nodes.far_program`): Python 3.9 reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TASK, STEP = "SLURM_PROCID", "SLURM_STEP_ID"


def of_its_own(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Without the number of a task where it is none of a step: Slurm gives the shell of a batch script one too (sbatch(1))."""
    if TASK not in environ or environ.get(STEP):
        return environ
    return {name: value for name, value in environ.items() if name != TASK}


def innermost(environ: Mapping[str, str], names: Sequence[str]) -> tuple[str, str] | None:
    """The first of these variables that it has, with its value. `names`: the innermost first."""
    own = of_its_own(environ)
    return next(((name, own[name]) for name in names if name in own), None)
