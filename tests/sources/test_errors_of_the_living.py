"""Real programs that write errors: one lives on, one dies beside a shell that stays, one begins anew in an old log."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.processes import end_group, eventually
from tests.fakes.runs import hangtop

CATCHES = """
import time, traceback
for i in range(10_000):
    print(f"step {i} loss {1 / (i + 1):.4f}", flush=True)
    try:
        raise ConnectionError("the server went away")
    except ConnectionError:
        traceback.print_exc()
    time.sleep(0.3)
"""
DIES = """
import time
for i in range(6):
    print(f"step {i} loss {1 / (i + 1):.4f}", flush=True)
raise RuntimeError("odd thing")
"""
BEGINS = "import pathlib, sys, time; pathlib.Path('begun').touch(); time.sleep(600)"


@contextmanager
def shell(log: Path, command: str) -> Iterator[None]:
    """A shell that runs this in a session of its own; its output goes to the end of the log."""
    with log.open("ab") as out:
        run = subprocess.Popen(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=log.parent,
            start_new_session=True,
        )
    try:
        yield
    finally:
        end_group(run)


def program(text: str) -> str:
    return shlex.join([sys.executable, "-c", text])


def verdict_of(log: Path) -> dict[str, Any]:
    return dict(json.loads(hangtop("check", "--log", str(log), "--json", "--sources", "log,procs").stdout))


def test_a_run_that_catches_its_errors_runs(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with shell(log, f"{program(CATCHES)}; true"):
        eventually(lambda: log.read_text().count("went away\n") > 2, "some errors")
        told = verdict_of(log)
    assert told["verdict"] == "running"
    assert "reported, the run goes on" in told["headline"]


def test_a_program_that_died_beside_a_shell_that_stays_has_crashed(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    (tmp_path / "dies.py").write_text(DIES)  # a frame in a file: what raises in a text may be a model's code
    with shell(log, f"{sys.executable} dies.py; touch over; sleep 600"):
        eventually((tmp_path / "over").exists, "the crash")
        told = verdict_of(log)
    assert (told["verdict"], told["headline"]) == ("crashed", "RuntimeError: odd thing.")


@pytest.mark.parametrize("again", [f"until test -f never; do sleep 60; done; {sys.executable} dies.py", ""])
def test_what_died_has_not_crashed_while_its_shell_waits_in_a_loop_to_start_it_again(again: str, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    (tmp_path / "dies.py").write_text(DIES)
    (tmp_path / "run.sh").write_text(f"{sys.executable} dies.py; touch over\n{again or 'sleep 60'}\n")
    with shell(log, "exec bash run.sh"):
        eventually((tmp_path / "over").exists, "the crash")
        assert verdict_of(log)["verdict"] == ("running" if again else "crashed")


def test_a_run_that_begins_in_the_log_of_one_that_ended_is_neither_finished_nor_crashed(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    for past in ("Training finished.", "Traceback (most recent call last):\n  File 'x.py', line 1, in <module>\nValueError: odd"):
        log.write_text(f"step 1/2 loss 0.5\n{past}\n")
        with shell(log, f"sleep 1.2; {program(BEGINS)}; true"):
            eventually((tmp_path / "begun").exists, "the new run")
            told = verdict_of(log)
        (tmp_path / "begun").unlink()
        assert told["verdict"] == "running", told["headline"]
        assert told["progress"]["step"] is None
