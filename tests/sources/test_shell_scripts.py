"""Real shells in the middle of their script: what they wait for, and what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hangtop.probe.processes.shell_scripts import ShellScripts
from hangtop.records.process import UnfinishedScript
from hangtop.system.processes.open_table import open_table
from tests.fakes.processes import eventually

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

HEEDS = ("env", "--default-signal=INT,QUIT")
"""Whoever is started in the background by a shell ignores these, and all below it do."""
JOB = "sleep 60 & wait\npython eval.py\n"
IN_FRONT = "f() {\n  sleep 60\n  echo $?\n}\nf\npython eval.py\n"
LAST = "sleep 60 &\npython -c pass\nsleep 61\nkill %1\n"


@pytest.mark.parametrize(
    ("shell", "script", "left"),
    [
        ("bash", JOB, (True, "python eval.py")),
        ("sh", JOB, (True, "python eval.py")),
        ("bash", IN_FRONT, (False, "python eval.py")),
        ("bash", LAST, None),
    ],
)
def test_what_a_script_comes_to_when_its_children_end(
    tmp_path: Path, shell: str, script: str, left: tuple[bool, str] | None
) -> None:
    (tmp_path / "run.sh").write_text(script)
    table = open_table()
    with subprocess.Popen([*HEEDS, shell, "run.sh"], cwd=tmp_path, start_new_session=True) as main:

        def asleep() -> list[int]:
            table.refresh(())
            return [stat.pid for stat in table.stats.values() if stat.ppid == main.pid and stat.name == "sleep"]

        try:
            eventually(lambda: len(asleep()) == script.count("sleep"), "its programs run")

            def told() -> list[tuple[bool, str]]:
                table.refresh(())  # a shell that has just started a program may still run
                return [(each.in_wait, each.next) for each in ShellScripts(table).find([main.pid], (), (), time.time() + 60)]

            if left is None:
                assert told() == []
            else:
                assert eventually(told, "a crowded machine answers late") == [left]
        finally:
            for pid in [*asleep(), main.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


PART = 'LOG=train.log\necho "step 20/20" >> "$LOG"\nsleep 62\n'


@pytest.mark.parametrize(
    ("script", "left"),
    [
        (f'{PART}python eval.py >> "$LOG"\n', "python eval.py"),
        (f"{PART}python eval.py > eval.log\n", None),
        (f'{PART}echo over >> "$LOG"\n', None),
        (PART, None),
        ("sleep 62\npython eval.py >> train.log\n", None),
    ],
)
def test_a_script_that_has_no_log_open_rests_between_two_parts_that_write_it(
    tmp_path: Path, script: str, left: str | None
) -> None:
    (tmp_path / "run.sh").write_text(script)
    table = open_table()
    with subprocess.Popen(["bash", "run.sh"], cwd=tmp_path, start_new_session=True) as main:

        def asleep() -> list[int]:
            table.refresh(())
            return [stat.pid for stat in table.stats.values() if stat.ppid == main.pid and stat.name == "sleep"]

        try:
            began = eventually(asleep, "its sleep runs")[0]
            logs, at = [str((tmp_path / "train.log").resolve())], time.time() + 60

            def told() -> list[UnfinishedScript]:
                asleep()
                return [each for each in ShellScripts(table).find((), logs, {os.geteuid()}, at) if each.pid == main.pid]

            if left is None:
                assert told() == []
            else:
                (script_left,) = eventually(told, "a crowded machine answers late")
                assert script_left.next.startswith(left)
                assert script_left.awaited == (began,)
                assert script_left.until == pytest.approx(time.time() + 62, abs=30)
        finally:
            for pid in [*asleep(), main.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
