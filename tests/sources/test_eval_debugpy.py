"""Real processes that have opened themselves to a debugger are asked through it, and go on as before."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hangtop.cli.commands import evaluate
from hangtop.system.agents.agent_client import NoAnswerError
from hangtop.system.agents.answerable import Answerable, answerable
from hangtop.system.agents.debugpy_client import adapter_of, ask_debugged
from tests.fakes.processes import eventually

pytest.importorskip("debugpy")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the adapter is found by /proc")

OPENED = "import debugpy\ndebugpy.listen(('127.0.0.1', 0))\nvalue = 41\nprint('there', flush=True)\n"
WAITS_FOR_A_DEBUGGER = f"{OPENED}debugpy.wait_for_client()\nprint('let go', flush=True)"
SLEEPS_WITH_THE_LOCK = f"{OPENED}import ctypes; ctypes.PyDLL(None).sleep(600)"
ONE = evaluate.Wanted(code="value", name=None, arguments={}, within_s=10.0, yes=True)


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-Xfrozen_modules=off", "-c", program], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "there\n"
            yield process
        finally:
            process.kill()


def test_one_that_waits_for_a_debugger_answers_and_waits_on_and_is_left_alone_where_one_is_attached():
    with running(WAITS_FOR_A_DEBUGGER) as process:
        pid, found = process.pid, answerable(process.pid)
        assert (found.why_not, found.way) == ("", "debugpy")
        for code, said in (("print('hello'); value + 1", "hello\n42\n"), ("import os; os.getpid()", f"{pid}\n")):
            assert ask_debugged(pid, found.start_ticks, code, {}, 60.0).output == said
        assert not ask_debugged(pid, found.start_ticks, "1 / 0", {}, 60.0).well
        with pytest.raises(NoAnswerError, match="another process answers"):
            ask_debugged(pid, found.start_ticks + 1, "value", {}, 60.0)
        adapter = adapter_of(pid)
        assert adapter is not None
        with socket.create_connection((adapter.address, adapter.port)):
            eventually(lambda: "a debugger is attached" in answerable(pid).why_not)
            with pytest.raises(NoAnswerError, match="a debugger came"):
                ask_debugged(pid, found.start_ticks, "value", {}, 60.0)
        process.kill()
        assert process.stdout is not None
        assert process.stdout.read() == "", "it was never let go"


def test_one_that_sleeps_with_pythons_lock_is_refused_before_debugpy_is_lost_over_it(capsys: pytest.CaptureFixture[str]):
    with running(SLEEPS_WITH_THE_LOCK) as process:
        found = Answerable(way="debugpy")
        eventually(lambda: "holds" in evaluate._through_debugpy(process.pid, found).why_not)  # at first it is on its way there
        assert evaluate.run({process.pid: ""}, ONE, sys.stdout) == 4
        assert "holds Python's lock" in capsys.readouterr().err
        adapter = adapter_of(process.pid)
        assert adapter is not None
        assert not adapter.taken
