"""A program under a pseudo-terminal that the test owns: what it shows, keys, and how fast it leaves."""

from __future__ import annotations

import fcntl
import os
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

from tests.fakes.processes import PATIENCE_S

PLAYER = Path(__file__).parents[1] / "live" / "play_in_terminal.py"
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
    return (sys.executable, str(PLAYER), recording, *options)


def children(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children()]
