"""What a process is, told by what it runs."""

from __future__ import annotations

import pytest

from hangtop.system.processes.roles import is_hangtop


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
