"""What a process is, told by what it runs."""

from __future__ import annotations

import pytest

from hangtop.system.processes.environments import ProcessFacts
from hangtop.system.processes.roles import RANKS, code, is_hangtop, number, program


@pytest.mark.parametrize(
    ("command", "is_it"),
    [
        ("/venv/bin/python3 /venv/bin/hangtop --log train.log", True),
        ("/venv/bin/python3 /venv/bin/hangtop demo", True),
        ("/venv/bin/python3 -m hangtop.probe", True),
        ("/venv/bin/python3 -P -m hangtop.actions.execute.executor", True),
        ("/venv/bin/python3 -P -m hangtop.actions.execute.runner", False),
        ("/venv/bin/python3 -P -m hangtop.demo.launcher hang /tmp/demo/data", False),
        ("/venv/bin/python3 -P -m hangtop.demo.demo_rank hang /tmp/demo/data", False),
        ("python train.py --out /runs/hangtop", False),
    ],
)
def test_hangtop_is_no_part_of_a_run_but_the_demo_and_the_keeper_of_a_log_are(command: str, is_it: bool) -> None:
    assert is_hangtop(command.split()) is is_it


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("python3 -c x=1 --steps 4", "x=1"),
        ("/venv/bin/python3.11 -X dev -Wd -uBc x=1", "x=1"),
        ("python -u train.py -c x.yaml", None),
        ("python -m train -c x.yaml", None),
        ("python -c", None),
        ("sh -c x=1", None),
        ("python", None),
    ],
)
def test_the_program_that_stands_on_the_command_line_of_python(command: str, given: str | None) -> None:
    assert code(command.split()) == given


def test_the_options_of_python_are_no_part_of_its_program() -> None:
    assert [program(line.split()) for line in ("python -uc torchrun", "python -X dev -m torchrun 4", "python", "torchrun 4")] == [
        "-c torchrun",
        "torchrun",
        "",
        "torchrun",
    ]


def test_the_shell_of_a_batch_script_of_slurm_is_no_rank_and_a_task_of_a_step_is() -> None:
    script = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
    assert number(ProcessFacts.of("bash", ("bash",), script).environ, RANKS) is None
    assert number(ProcessFacts.of("bash", ("bash",), {**script, "SLURM_STEP_ID": "0"}).environ, RANKS) == 0
