"""Keys come from the terminal even where stdin is something else, and no signal leaves the terminal in disorder."""

from __future__ import annotations

import os
import re
import signal
import sys
import time

import psutil
import pyte
import pytest
from test_terminal import Terminal, play

from tests.fakes.processes import eventually


@pytest.mark.parametrize("stdin", ["</dev/null", "<&-"])
def test_q_works_whatever_stdin_is(tmp_path, stdin):
    log = tmp_path / "train.log"
    log.write_text("step: 1 loss: 2.0\n")
    shell = ("setsid", "--ctty", "--wait", "bash", "-c", f'exec "$@" {stdin}', "bash")  # the pty is its controlling terminal
    with Terminal(*shell, sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off", "--sources", "log") as terminal:
        assert b"loss: 2.0" in terminal.read(60, until=b"loss: 2.0")
        terminal.press(b"q")
        assert terminal.wait_gone(20) is not None
        assert b"\x1b[?1049l" in terminal.output
        assert b"Traceback" not in terminal.output


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_the_first_byte_on_the_screen_restores_the_terminal(tmp_path, sent):
    log = tmp_path / "train.log"
    log.write_text("step: 1 loss: 2.0\n")
    with Terminal(sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off", "--sources", "log") as terminal:
        assert b"\x1b[?1049h" in terminal.read(60, until=b"\x1b[?1049h")
        terminal.process.send_signal(sent)
        assert terminal.wait_gone(20) is not None
        assert b"\x1b[?1049l" in terminal.output
        assert b"Traceback" not in terminal.output


@pytest.mark.parametrize("shell", [("setsid", "--ctty", "--wait"), ()], ids=["its controlling terminal", "any other"])
@pytest.mark.parametrize("what", ["--log", "demo"])
def test_nothing_is_left_when_the_terminal_vanishes(tmp_path, shell, what):
    log = tmp_path / "train.log"
    log.write_text("step: 1 loss: 2.0\n")
    words = ("demo",) if what == "demo" else ("--log", str(log), "--ray", "off", "--sources", "log")
    with Terminal(*shell, sys.executable, "-m", "hangtop", *words, TMPDIR=str(tmp_path)) as terminal:
        terminal.read(60, until=b"step")
        terminal.vanish()
        assert terminal.wait_gone(20) is not None
        ends = time.monotonic() + 20
        while (left := living(str(tmp_path))) and time.monotonic() < ends:
            time.sleep(0.1)
        assert left == []


def living(word: str) -> list[str]:
    """Command lines of processes that have this word in it."""
    return [
        " ".join(one.info["cmdline"]) for one in psutil.process_iter(["cmdline"]) if word in " ".join(one.info["cmdline"] or ())
    ]


@pytest.mark.parametrize(("option", "bells"), [((), 1), (("--calm",), 0)])
def test_the_bell_rings_once_and_not_at_all_when_calm(option, bells):
    with Terminal(*play("stalled", *option)) as terminal:
        terminal.read(60, until="■ STALLED".encode())
        terminal.read(2)
        assert re.sub(rb"\x1b\][^\x07]*\x07", b"", terminal.output).count(b"\x07") == bells


def test_the_screen_is_as_large_as_the_terminal_whatever_the_environment_says():
    shown = pyte.Screen(90, 30)
    with Terminal(*play("healthy"), size=(90, 30), COLUMNS="200", LINES="60") as terminal:
        terminal.read(60, until=b"quit")
        terminal.read(1)
        pyte.ByteStream(shown).feed(terminal.output)
        assert "RUNNING" in shown.display[0]
        assert "q quit" in shown.display[29]


def test_ctrl_z_gives_the_terminal_back_and_fg_paints_all_of_it_again():
    shown = pyte.Screen(100, 30)
    with Terminal(*play("healthy"), size=(100, 30)) as terminal:
        terminal.read(60, until=b"quit")
        terminal.read(1)
        terminal.press(b"\x1a")
        assert b"\x1b[?1049l" in terminal.read(30, until=b"\x1b[?1049l")
        eventually(lambda: psutil.Process(terminal.process.pid).status() == psutil.STATUS_STOPPED)
        os.kill(terminal.process.pid, signal.SIGCONT)
        assert b"q \x1b" in terminal.read(30, until=b"q \x1b")
        terminal.read(1)
        pyte.ByteStream(shown).feed(terminal.output.rpartition(b"\x1b[?1049h")[2])
        assert "train.log" in shown.display[0]
        assert "RUNNING" in shown.display[0]
        assert "q quit" in shown.display[29]
