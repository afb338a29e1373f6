"""An executor that cannot go on says what failed, and blames the action log only where that is what failed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hangtop.records.plan import EvidenceCommand, Plan, Step

BREAKS = """
import sys
from hangtop.actions.execute import executor
def breaks(commands, halt):
    yield executor.step("doing", "the first part")
    raise {error}
executor.gather = breaks
executor.main()
"""


def performed(program: str, state: Path) -> tuple[int, list[Step]]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=msgspec.json.encode(Plan("stop", "Stop", evidence=(EvidenceCommand(("x",), "x", 1.0),))),
        env={"XDG_STATE_HOME": str(state)},
        capture_output=True,
        check=False,
    )
    return done.returncode, [msgspec.json.decode(line, type=Step) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("OSError(22, 'Invalid argument')", "Invalid argument (system call, no file named)"),
        ("OSError(13, 'Permission denied', '/some/file')", "/some/file: Permission denied"),
        ("RuntimeError('two\\nlines')", "RuntimeError: two"),
    ],
)
def test_what_failed_is_named_with_the_step_before_it(error: str, said: str, tmp_path: Path) -> None:
    code, steps = performed(BREAKS.format(error=error), tmp_path)
    assert code == 1
    assert [step.kind for step in steps] == ["doing", "failed"]
    assert steps[-1].text == f"it broke off after “the first part”: {said}; what is not told as done was not done"
    logged = (tmp_path / "hangtop" / "actions.log").read_text().splitlines()
    assert json.loads(logged[-1])["text"] == steps[-1].text


def test_an_action_log_that_cannot_be_written_is_named_and_nothing_is_done(tmp_path: Path) -> None:
    (tmp_path / "hangtop").mkdir()
    (tmp_path / "hangtop" / "actions.log").mkdir()
    code, steps = performed(BREAKS.format(error="RuntimeError"), tmp_path)
    assert code == 1
    assert [step.text for step in steps] == [f"{tmp_path}/hangtop/actions.log: Is a directory: what is not logged is not done"]
