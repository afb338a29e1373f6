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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pyte
import pytest

from tests.fakes.processes import PATIENCE_S, eventually

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
        self._screen = pyte.Screen(*size)
        self._stream, self._fed = pyte.ByteStream(self._screen), 0

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

    def comes(self, what: bytes) -> None:
        """Until these bytes come."""
        assert what in self.read(PATIENCE_S, until=what), self.shown()

    def shown(self) -> str:
        """What stands on it, of all that was read."""
        self._stream.feed(self.output[self._fed :])
        self._fed = len(self.output)
        return "\n".join(self._screen.display)

    def until(self, holds: Callable[[str], object], what: str) -> str:
        """What stands on it once this is true of that: a screen is painted in parts, on a slow machine with time between them."""
        end = time.monotonic() + PATIENCE_S
        while not holds(text := self.shown()):
            assert time.monotonic() < end, f"{what}: not within {PATIENCE_S:.0f} s:\n{text}"
            self.read(0.1)
        return text

    def forget(self) -> None:
        """What it showed before its last change to the screen beside the shell's."""
        self._screen.reset()
        self._fed = self.output.rindex(b"\x1b[?1049h")

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def vanish(self) -> None:
        """As when its window is closed, or the SSH session breaks."""
        os.close(self._master)
        self._master = os.open(os.devnull, os.O_RDWR)

    def ends(self) -> None:
        """Until it has ended, all of its output read."""
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it did not end:\n{self.shown()}"
            self.read(0.02)
            time.sleep(0.01)  # of a terminal that vanished there is nothing to wait for
        self.read(0.02)


def quits_at_once(terminal: Terminal) -> None:
    """From the key to the prompt, less the time for which hangtop ran or the machine had no core for it or for us: a slow or busy
    machine is no fault of hangtop's, but a wait for a driver, a probe or a disk is, and it shows."""
    pid, ours = terminal.process.pid, os.getpid()
    began, before = time.monotonic(), at_work_s(pid) | {"ours": at_work_s(ours)[str(ours)], "stolen": stolen_s()}
    spent = dict(before)
    terminal.press(b"q")
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        assert time.monotonic() - began < PATIENCE_S, "q did not end it"
        terminal.read(0.005)
        spent |= at_work_s(pid)
    took_s = time.monotonic() - began
    spent |= at_work_s(pid) | {"ours": at_work_s(ours)[str(ours)], "stolen": stolen_s()}
    busy_s = sum(spent[part] - before.get(part, 0.0) for part in spent)
    assert took_s - busy_s < PROMPT_S, f"q took {took_s:.2f} s, of them {busy_s:.2f} s at work or without a core"


def at_work_s(pid: int) -> dict[str, float]:
    """Seconds for which each of its threads ran, or was ready to run and had no core (proc(5), schedstat; also of a zombie)."""
    known = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with suppress(OSError):  # it has ended meanwhile
            ran_ns, waited_ns, _ = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
            known[thread] = (int(ran_ns) + int(waited_ns)) / 1e9
    return known


def stolen_s() -> float:
    """Seconds that the host took of this virtual machine's cores since its start."""
    return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) / os.sysconf("SC_CLK_TCK")


def play(recording: str, *options: str) -> tuple[str, ...]:
    return (sys.executable, str(HERE / "play_in_terminal.py"), recording, *options)


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


def children(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children()]


def gone(pid: int) -> bool:
    """A zombie is: whoever inherits it may take a while to ask for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
