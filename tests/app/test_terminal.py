"""hangtop in a real terminal (a pty that this test owns): what goes over the wire, and how it leaves."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROMPT_S = 0.3
"""The promise: `q` gives the prompt back within this time, whatever is stuck."""


class Terminal:
    """A program under a pty, its output as it comes. Answers no query."""

    def __init__(self, *command: str, size: tuple[int, int] = (120, 40), **env: str) -> None:
        self._master, slave = os.openpty()
        columns, lines = size
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        shown = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env={**kept, **shown, **env}, start_new_session=True, close_fds=True
        )
        os.close(slave)
        os.set_blocking(self._master, False)
        self.output = b""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._master)

    def read(self, seconds: float, until: bytes | None = None) -> bytes:
        """What comes within this time, or until `until` is in it."""
        end, got = time.monotonic() + seconds, b""
        while (left := end - time.monotonic()) > 0 and not (until and until in got):
            if select.select([self._master], [], [], left)[0]:
                try:
                    chunk = os.read(self._master, 65536)
                except OSError:
                    break
                if not chunk:
                    break
                got += chunk
        self.output += got
        return got

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def vanish(self) -> None:
        """As when its window is closed, or the SSH session breaks."""
        os.close(self._master)
        self._master = os.open(os.devnull, os.O_RDWR)

    def wait_gone(self, seconds: float) -> float | None:
        """Seconds until it has ended; `None` when it has not."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            self.read(0.02)
            if self.process.poll() is not None:
                return time.monotonic() - began
        return None


def quits_at_once(terminal: Terminal, patience_s: float = 60) -> None:
    """From the key to the prompt, less the time for which the machine had no core for hangtop or for us: a busy machine is no
    fault of hangtop's, but a wait for a driver, a probe or a disk is, and it shows."""
    pid = terminal.process.pid
    began, waited_s = time.monotonic(), no_core_s(pid) + no_core_s(os.getpid())
    terminal.press(b"q")
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        assert time.monotonic() - began < patience_s, "q did not end it"
        terminal.read(0.005)
    took_s, waited_s = time.monotonic() - began, no_core_s(pid) + no_core_s(os.getpid()) - waited_s
    assert took_s - waited_s < PROMPT_S, f"q took {took_s:.2f} s, of them {waited_s:.2f} s without a core"


def no_core_s(pid: int) -> float:
    """How long its main thread has been ready to run, and had no core (proc(5), schedstat; also of a zombie)."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def play(recording: str, *options: str) -> tuple[str, ...]:
    return (sys.executable, str(HERE / "play_in_terminal.py"), recording, *options)


def bytes_a_second(terminal: Terminal, seconds: float) -> float:
    return len(terminal.read(seconds)) / seconds


def test_an_idle_second_costs_little():
    """Budget: 600 B/s at 120x40. Only the badge ticks."""
    with Terminal(*play("healthy", "--beat")) as terminal:
        assert b"RUNNING" in terminal.read(20, until=b"RUNNING")
        terminal.read(3)
        assert bytes_a_second(terminal, 6) < 600


def test_a_flash_costs_little():
    """Budget: 1 kB/s."""
    with Terminal(*play("stalled", "--beat")) as terminal:
        assert b"STALLED" in terminal.read(20, until=b"STALLED")
        terminal.read(1.5)
        assert bytes_a_second(terminal, 6) < 1000


def test_one_bell_and_the_title_comes_and_goes():
    with Terminal(*play("stalled", "--beat")) as terminal:
        terminal.read(20, until="■ STALLED".encode())
        terminal.read(3)
        terminal.press(b"q")
        assert terminal.wait_gone(10) is not None
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
        assert b"loss: 1.9" in terminal.read(30, until=b"loss: 1.9")
        probes = children(terminal.process.pid)
        assert probes
        for probe in probes:
            os.kill(probe, hurt)
        terminal.read(1.0)
        quits_at_once(terminal)
        terminal.read(0.1)
        assert b"\x1b[?1049l" in terminal.output
    for probe in probes:
        assert gone_within(probe, 10)


def test_hangup_and_term_restore_the_terminal_and_leave_no_child_behind(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("step: 1 loss: 2.0\n")
    for sent in (signal.SIGTERM, signal.SIGHUP):
        with Terminal(sys.executable, "-m", "hangtop", "--log", str(log), "--ray", "off") as terminal:
            terminal.read(30, until=b"loss: 2.0")
            probes = children(terminal.process.pid)
            terminal.process.send_signal(sent)
            assert terminal.wait_gone(20) is not None
            assert b"\x1b[?1049l" in terminal.output
        assert all(gone_within(probe, 10) for probe in probes)


def test_no_utf8_no_colour_in_a_plain_terminal():
    with Terminal(*play("stalled"), size=(80, 24), TERM="xterm", LC_ALL="C", LANG="C", NO_COLOR="1", PYTHONUTF8="0") as terminal:
        terminal.read(20, until=b"STALLED")
        terminal.read(1)
        screen = re.sub(rb"\x1b(\[[0-9;?>]*[a-zA-Z]|\][^\x07]*\x07)", b"", terminal.output)
        assert screen.isascii()
        assert not re.search(rb"\x1b\[[0-9;]*(3[0-7]|38|48)[;m]", terminal.output)


def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("step 1/2 loss 1.0\nstep 2/2 loss 0.9\ntraining finished\n")
    command = (sys.executable, "-m", "hangtop", "--log", str(log), "--sources", "log")
    with Terminal(*command, size=(80, 24), TERM="dumb") as terminal:
        assert b"FINISHED" in terminal.read(20, until=b"FINISHED")
        assert b"\x1b" not in terminal.output


def children(pid: int) -> list[int]:
    return [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]


def gone_within(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False
