"""Keys come from the terminal even where stdin is something else, and no signal leaves the terminal in disorder."""

from __future__ import annotations

import os
import re
import signal
import sys

import psutil
import pytest

from tests.fakes.processes import eventually
from tests.fakes.screen_terminal import Terminal, play


@pytest.mark.parametrize("stdin", ["</dev/null", "<&-"])
def test_q_works_whatever_stdin_is(tmp_path, stdin):
    log = tmp_path / "train.log"
    log.write_text("step: 1 loss: 2.0\n")
    shell = ("setsid", "--ctty", "--wait", "bash", "-c", f'exec "$@" {stdin}', "bash")  # the pty is its controlling terminal
    with Terminal(*shell, sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off", "--sources", "log") as terminal:
        terminal.comes(b"loss: 2.0")
        terminal.press(b"q")
        terminal.ends()
        assert b"\x1b[?1049l" in terminal.output
        assert b"Traceback" not in terminal.output


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_the_first_byte_on_the_screen_restores_the_terminal(tmp_path, sent):
    log = tmp_path / "train.log"
    log.write_text("step: 1 loss: 2.0\n")
    with Terminal(sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off", "--sources", "log") as terminal:
        terminal.comes(b"\x1b[?1049h")
        terminal.process.send_signal(sent)
        terminal.ends()
        assert b"\x1b[?1049l" in terminal.output
        assert b"Traceback" not in terminal.output


@pytest.mark.parametrize("shell", [("setsid", "--ctty", "--wait"), ()], ids=["its controlling terminal", "any other"])
@pytest.mark.parametrize("what", ["--log", "demo"])
def test_nothing_is_left_when_the_terminal_vanishes(tmp_path, shell, what):
    log = tmp_path / "train.log"
    log.write_text("step: 1 loss: 2.0\n")
    words = ("demo",) if what == "demo" else ("--log", str(log), "--ray", "off", "--sources", "log")
    with Terminal(*shell, sys.executable, "-m", "hangtop", *words, TMPDIR=str(tmp_path)) as terminal:
        terminal.comes(b"step")
        terminal.vanish()
        terminal.ends()
        eventually(lambda: not living(str(tmp_path)), "the end of all that was started")


def living(word: str) -> list[str]:
    """Command lines of processes that have this word in it."""
    return [
        " ".join(process.info["cmdline"])
        for process in psutil.process_iter(["cmdline"])
        if word in " ".join(process.info["cmdline"] or ())
    ]


@pytest.mark.parametrize(("option", "bells"), [((), 1), (("--calm",), 0)])
def test_the_bell_rings_once_and_not_at_all_when_calm(option, bells):
    with Terminal(*play("stalled", *option)) as terminal:
        terminal.until(lambda text: "■ STALLED" in text, "the badge")
        terminal.read(2)
        terminal.press(b"q")
        terminal.ends()
        assert re.sub(rb"\x1b\][^\x07]*\x07", b"", terminal.output).count(b"\x07") == bells


def test_the_screen_is_as_large_as_the_terminal_whatever_the_environment_says():
    with Terminal(*play("healthy"), size=(90, 30), COLUMNS="200", LINES="60") as terminal:
        terminal.until(fills_30_lines, "first and last line where they belong")


def test_ctrl_z_gives_the_terminal_back_and_fg_paints_all_of_it_again():
    with Terminal(*play("healthy"), size=(100, 30)) as terminal:
        terminal.until(fills_30_lines, "the screen")
        terminal.press(b"\x1a")
        terminal.comes(b"\x1b[?1049l")
        eventually(lambda: psutil.Process(terminal.process.pid).status() == psutil.STATUS_STOPPED)
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.comes(b"\x1b[?1049h")
        terminal.forget()
        terminal.until(lambda text: fills_30_lines(text) and "train.log" in text.splitlines()[0], "all of it, painted anew")


def fills_30_lines(text: str) -> bool:
    lines = text.splitlines()
    return "RUNNING" in lines[0] and "q quit" in lines[29]
