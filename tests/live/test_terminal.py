"""hangtop in a real terminal (a pty that this test owns): what goes over the wire, and how it leaves."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.fakes.processes import eventually
from tests.fakes.screen_terminal import Terminal, children, play, quits_at_once


def bytes_a_second(terminal: Terminal, seconds: float) -> float:
    return len(terminal.read(seconds)) / seconds


def test_an_idle_second_costs_little():
    """Budget: 600 B/s at 120x40. Only the badge ticks."""
    with Terminal(*play("healthy", "--beat")) as terminal:
        terminal.comes(b"RUNNING")
        terminal.read(3)
        assert any(bytes_a_second(terminal, 6) < 600 for _ in range(5)), "on a slow machine the first paint goes on for long"


def test_a_flash_costs_little():
    """Budget: 1 kB/s."""
    with Terminal(*play("stalled", "--beat")) as terminal:
        terminal.comes(b"STALLED")
        terminal.read(1)
        assert any(bytes_a_second(terminal, 3) < 1000 for _ in range(3)), "it flashes for ten seconds"


def test_one_bell_and_the_title_comes_and_goes():
    with Terminal(*play("stalled", "--beat")) as terminal:
        terminal.comes("■ STALLED".encode())
        terminal.read(3)
        terminal.press(b"q")
        terminal.ends()
        bells = re.sub(rb"\x1b\][^\x07]*\x07", b"", terminal.output).count(b"\x07")
        assert bells == 1
        assert "\x1b]0;■ STALLED".encode() in terminal.output
        assert terminal.output.index(b"\x1b[22;0t") < terminal.output.index(b"\x1b]0;") < terminal.output.rindex(b"\x1b[23;0t")
        assert terminal.output.rstrip().endswith((b"\x1b[?1004l", b"\x1b[?25h")) or b"\x1b[?1049l" in terminal.output


@pytest.mark.parametrize("hurt", [signal.SIGSTOP, signal.SIGKILL])
def test_q_leaves_at_once_when_the_probe_is_stopped_or_killed(tmp_path, hurt):
    log = tmp_path / "train.log"
    log.write_text("step: 1 loss: 2.0\nstep: 2 loss: 1.9\n")
    with Terminal(sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off") as terminal:
        terminal.comes(b"loss: 1.9")
        probes = children(terminal.process.pid)
        assert probes
        for probe in probes:
            os.kill(probe, hurt)
        terminal.read(1.0)
        quits_at_once(terminal)
        terminal.read(0.1)
        assert b"\x1b[?1049l" in terminal.output
    for probe in probes:
        eventually(lambda probe=probe: gone(probe), "the end of the probe")


def test_hangup_and_term_restore_the_terminal_and_leave_no_child_behind(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("step: 1 loss: 2.0\n")
    for sent in (signal.SIGTERM, signal.SIGHUP):
        with Terminal(sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off") as terminal:
            terminal.comes(b"loss: 2.0")
            probes = children(terminal.process.pid)
            terminal.process.send_signal(sent)
            terminal.ends()
            assert b"\x1b[?1049l" in terminal.output
        eventually(lambda probes=probes: all(map(gone, probes)), "the end of the probe")


def test_no_utf8_no_colour_in_a_plain_terminal():
    with Terminal(*play("stalled"), size=(80, 24), TERM="xterm", LC_ALL="C", LANG="C", NO_COLOR="1", PYTHONUTF8="0") as terminal:
        terminal.comes(b"STALLED")
        terminal.read(1)
        screen = re.sub(rb"\x1b(\[[0-9;?>]*[a-zA-Z]|\][^\x07]*\x07)", b"", terminal.output)
        assert screen.isascii()
        assert not re.search(rb"\x1b\[[0-9;]*(3[0-7]|38|48)[;m]", terminal.output)


def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("step 1/2 loss 1.0\nstep 2/2 loss 0.9\ntraining finished\n")
    command = (sys.executable, "-m", "hangtop", "--log", str(log), "--sources", "log")
    with Terminal(*command, size=(80, 24), TERM="dumb") as terminal:
        terminal.comes(b"FINISHED")
        assert b"\x1b" not in terminal.output


def gone(pid: int) -> bool:
    """A zombie is: whoever inherits it may take a while to ask for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_keys_and_mouse_in_the_bytes_of_xterm_and_of_editors_that_hold_one():
    """Shift with arrows and Tab, braces, a click, a drag and a wheel as xterm, VS Code and Jupyter (both xterm.js) send them."""
    with Terminal(*play("fleet_hung", "--beat"), TERM="xterm-256color", TERM_PROGRAM="vscode") as terminal:

        def column(head: str) -> int:
            return next((row.find(head) for row in terminal.shown().splitlines() if head in row), -1)

        terminal.until(lambda shown: "3 GPUs" in shown and "6 Log" in shown, "the panes")
        terminal.press(b"?")
        terminal.until(lambda shown: "6 Log" not in shown, "help over them, for keys are taken now")
        terminal.press(b"\x1b")
        terminal.until(lambda shown: "3 GPUs" in shown and "6 Log" in shown, "the panes")
        usual = column("3 GPUs")
        terminal.press(b"2\x1b[1;2D")
        terminal.until(lambda _: column("3 GPUs") == usual - 2, "a narrower left pane")
        terminal.press(b"}")
        terminal.until(lambda _: column("3 GPUs") < column("2 Ranks"), "a pane that went behind the next one")
        terminal.press(b"0")
        terminal.until(lambda _: column("3 GPUs") == usual, "the usual order and size")
        row = next(nth for nth, line in enumerate(terminal.shown().splitlines(), start=1) if "3 GPUs" in line)
        terminal.press(b"3\x1b[Zx")
        terminal.until(lambda _: column("2 Ranks") < 0, "the pane before the focused one hidden")
        terminal.press(b"2")
        terminal.until(lambda _: column("2 Ranks") >= 0 and column("3 GPUs") == usual, "shown again by its number")
        terminal.press(b"\x1b[<0;%d;%dM\x1b[<0;%d;%dm" % (usual + 5, row + 2, usual + 5, row + 2) + b"x")
        terminal.until(lambda _: column("3 GPUs") < 0, "the pane hidden on which the mouse clicked")
