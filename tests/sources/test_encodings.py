"""Terminals that are not UTF-8: every command says all of what it does, with stand-ins for the signs that they lack."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hangtop.system.stores import launch_store
from tests.fakes.processes import PATIENCE_S, end_group, eventually
from tests.fakes.started import end_run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc: Linux only")

ENCODINGS = ("gbk", "latin-1", "ascii")
RUN = "import os, time; print('Epoch 1/3 –', os.getpid(), flush=True); time.sleep(600)"


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def hangtop(encoding: str, *words: str) -> tuple[int, str]:
    """(exit code, all that it printed)."""
    environ = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(
        [sys.executable, "-m", "hangtop", *words],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_S,
        check=False,
    )
    said = done.stdout.decode(encoding)
    assert "Traceback" not in said
    assert "UnicodeEncodeError" not in said
    return done.returncode, said


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_run_is_looked_at_restarted_and_stopped_to_the_last_line(encoding: str, tmp_path: Path) -> None:
    log = tmp_path / "protokoll–✓.log"
    environ = {**os.environ, "PYTHONUTF8": "1"}
    with log.open("wb") as output:
        old = subprocess.Popen([sys.executable, "-c", RUN], stdout=output, cwd=tmp_path, env=environ, start_new_session=True)
    try:
        eventually(lambda: log.stat().st_size)
        code, said = hangtop(encoding, "check", "--log", str(log))
        assert code in (0, 1)
        code, said = hangtop(encoding, "restart", "--log", str(log), "--yes")
        assert code == 0, said
        assert "is started, attempt 2" in said
        assert old.wait(PATIENCE_S) == -signal.SIGTERM
        code, said = hangtop(encoding, "stop", "--log", str(log), "--yes")
        assert code == 0, said
        assert "of the plan is gone" in said or "processes of the plan are gone" in said
    finally:
        end_group(old)
        known = launch_store.latest(os.path.realpath(log))
        if known is not None and known.attempt > 1:
            end_run(known)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "words", [("clean",), ("recover", "--log", "x.log"), ("explain", "nccl.watchdog_timeout", "--lang", "zh")]
)
def test_other_commands_end_in_words_too(
    encoding: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.log").write_text("✓ läuft\n")
    code, said = hangtop(encoding, *words)
    assert code in (0, 1, 2)
    assert said.strip()
