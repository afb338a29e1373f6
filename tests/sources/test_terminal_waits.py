"""Who waits for a person to type, and who waits for whoever connects: real processes, by the kernel's own words."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from hangtop.records.stack import Wait
from hangtop.system.processes.kernel_threads import kernel_thread

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells it")


def wait_in(code: str, stdin: int) -> Wait | None:
    """What the main thread of a program waits in, once it has said that it begins to."""
    with subprocess.Popen([sys.executable, "-c", f"print(flush=True); {code}"], stdin=stdin, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        ends = time.monotonic() + 20
        while kernel_thread(run.pid, run.pid).wait is None and time.monotonic() < ends:
            time.sleep(0.05)
        time.sleep(0.2)
        found = kernel_thread(run.pid, run.pid).wait
        run.kill()
        return found


def test_a_read_of_a_terminal_is_a_wait_for_a_person_and_one_of_a_pipe_is_not() -> None:
    person, terminal = os.openpty()
    writer, reader = os.pipe()[::-1]
    try:
        assert wait_in("input()", terminal) == "terminal"
        assert wait_in("input()", reader) == "pipe"
    finally:
        for descriptor in (person, terminal, writer, reader):
            os.close(descriptor)


def test_who_accepts_waits_for_whoever_connects() -> None:
    assert wait_in("import socket; socket.create_server(('127.0.0.1', 0)).accept()", subprocess.DEVNULL) == "accept"
