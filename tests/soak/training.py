"""A little run of two ranks for the soak: `training.py LOG CONTROL`.

Each step the ranks wait for each other over a socket, rank 0 writes a line, and a worker is born that lives two seconds. The
file `stand` in CONTROL makes rank 1 stop before the next step until the file is gone and the fifo `go` is written to; `finish`
ends the run as one that is done. The log is opened again after it was renamed.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TextIO

STEP_S = 0.5
STEPS = 1_000_000


def main(log: str, control: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # workers leave no zombies
    here, there = socket.socketpair()
    os.environ.update(WORLD_SIZE="2", LOCAL_RANK="0", RANK="0")
    if os.fork() == 0:
        os.execve(sys.executable, [*_own_command(), "1", str(_kept(there))], {**os.environ, "RANK": "1", "LOCAL_RANK": "1"})
    _rank_0(Path(log), Path(control), here)


def _own_command() -> list[str]:
    return [sys.executable, *sys.argv]


def _kept(end: socket.socket) -> int:
    end.set_inheritable(True)
    return end.detach()


def _rank_0(log: Path, control: Path, peer: socket.socket) -> None:
    out = log.open("a", buffering=1)
    for step in range(1, STEPS):
        out = _followed(out, log)
        time.sleep(STEP_S)
        peer.sendall(b"s")
        if not peer.recv(1):
            out.write("RuntimeError: the peer has closed its connection\n")
            raise SystemExit(1)
        out.write(f"[rank0]: step {step}/{STEPS} loss {2 + step % 700 / 1_000:.3f} grad_norm {1 + step % 7}\n")
        os.posix_spawn("/bin/sleep", ["sleep", "2"], os.environ)
        if (control / "finish").exists():
            out.write("Training completed. Model saved.\n")
            return


def _followed(out: TextIO, log: Path) -> TextIO:
    """This file, or the one that stands at its path now."""
    try:
        if os.fstat(out.fileno()).st_ino == log.stat().st_ino:
            return out
    except FileNotFoundError:
        pass  # just renamed
    out.close()
    return log.open("a", buffering=1)


def _rank_1(control: Path, peer: socket.socket) -> None:
    while peer.recv(1):
        if (control / "stand").exists():
            (control / "go").open("rb").read()
        peer.sendall(b"s")


if __name__ == "__main__":
    if len(sys.argv) > 3:
        _rank_1(Path(sys.argv[2]), socket.socket(fileno=int(sys.argv[4])))
    else:
        main(*sys.argv[1:3])
