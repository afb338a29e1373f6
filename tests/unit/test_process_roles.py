"""What a process is, told by what it runs."""

from __future__ import annotations

import pytest

from hangtop.system.processes.roles import code, is_hangtop, program


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
