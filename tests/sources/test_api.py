"""hangtop for programs: `hangtop.check`, `hangtop.watch`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import hangtop


def test_one_verdict(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 3/3 loss=1.0\ntraining finished\n")
    assert hangtop.check(log=log).word == "finished"


async def test_changes_as_they_come_until_the_run_has_ended(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1/3 loss=1.0\n")
    with log.open("a") as held, subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=held) as writer:
        words = []
        async with asyncio.timeout(120):
            async for change in hangtop.watch(log=log):
                words.append(change.verdict.word)
                if len(words) == 1:
                    held.write("step 2/3 loss=1.0\nstep 3/3 loss=1.0\ntraining finished\n")
                    held.flush()
                    assert writer.stdin is not None
                    writer.stdin.close()
    assert words[-1] == "finished"
    assert len(words) > 1


@pytest.mark.parametrize(("given", "why"), [({}, "which run"), ({"log": "x", "stall_s": float("nan")}, "at least one second")])
def test_a_question_that_makes_no_sense_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        hangtop.check(**given)


def test_the_package_itself_loads_nothing() -> None:
    code = "import hangtop, sys; print([name for name in sys.modules if name.startswith('hangtop.') or name == 'asyncio'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120).stdout.strip() == "[]"


@pytest.mark.parametrize(("log", "why"), [("", "no name"), ("a\0b", "no path holds a NUL"), ("a\ud800", "half a character")])
def test_a_path_that_no_file_can_have_is_refused_at_once(log: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        hangtop.check(log)
