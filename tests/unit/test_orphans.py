"""Which of the processes that lost their parent were part of a training run."""

from __future__ import annotations

import pytest

from hangtop.probe.leftovers.orphans import is_orphan
from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.table import OpenFile, Stat

RANK = {"RANK": "3", "WORLD_SIZE": "8"}
GPU = (OpenFile(9, "/dev/nvidia3", True),)


@pytest.mark.parametrize(
    ("command", "environ", "files", "leads", "orphan"),
    [
        (("python", "train.py"), {}, (), False, True),
        (("python", "train.py"), {}, (), True, False),
        (("python", "serve.py"), {}, (), False, False),
        (("python", "serve.py"), {}, GPU, False, True),
        (("python", "main.py"), RANK, (), True, True),
        ((), RANK, (), True, False),
        (("python", "-m", "hangtop", "--log", "train.log"), {}, (), False, False),
        (("python", "-m", "hangtop", "--log", "train.log"), RANK, (), True, False),
        (("python", "-m", "tensorboard.main", "--logdir", "train"), {}, (), False, False),
    ],
    ids=[
        "trains",
        "a run under nohup",
        "serves",
        "serves on a GPU",
        "a rank",
        "in its execve",
        "looks at a run",
        "looks at a run, with a rank's environment",
        "plots a run",
    ],
)
def test_who_was_part_of_a_run(
    command: tuple[str, ...], environ: dict[str, str], files: tuple[OpenFile, ...], leads: bool, orphan: bool
) -> None:
    stat = Stat(pid=7, name="python", state="S", ppid=1, group=7 if leads else 6, session=5, start_ticks=1)
    assert is_orphan(stat, ProcessFacts.of("python", command, environ), files) is orphan
