"""Real little runs for tests of actions: a launcher, its ranks, one log. How each of them takes a signal is chosen."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.fakes.processes import end_group, eventually

RANKS = {
    "willing": "up(); time.sleep(600)",
    "stubborn": "signal.signal(signal.SIGTERM, signal.SIG_IGN); up(); time.sleep(600)",
    # A parent of vfork waits in the kernel, in state D, until its child lets go; only a fatal signal ends that (vfork(2)).
    "vfork": "signal.signal(15, signal.SIG_IGN); up(); c = ctypes.CDLL(None); c.vfork(); c.usleep(600_000_000); os._exit(0)",
    "listening": "s = socket.socket(); s.bind(('127.0.0.1', int(os.environ['MASTER_PORT']))); s.listen(); up(); time.sleep(600)",
    "shared": "f = open(os.environ['SEGMENT'], 'w'); f.write('x' * 8192); f.flush(); up(); time.sleep(600)",
    # A first thread that ends leaves the process to the others: the kernel shows state Z, and it goes on.
    "headless": "threading.Thread(target=time.sleep, args=(600,)).start(); up(); ctypes.CDLL(None).pthread_exit(None)",
    "frozen": "up(); f = open(os.environ['FROZEN'], 'w'); f.write('x'); f.flush(); time.sleep(600)",
}
RANK = "import ctypes, os, signal, socket, sys, threading, time\ndef up(): os.write(1, b'rank %s up\\n' % os.environb[b'RANK'])\n"
"""It is up once it takes signals in its way."""
LAUNCHER = """
import os, signal, subprocess, sys, time
if os.environ.get("LAUNCHER") == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
ways, users = os.environ["WAYS"].split(), os.environ["USERS"].split()
def start(k):
    environ = dict(os.environ, RANK=str(k), LOCAL_RANK=str(k), WORLD_SIZE=str(len(ways)), MASTER_ADDR="127.0.0.1")
    if users[k] != "-":  # who may not read our interpreter, but may run a shell
        return subprocess.Popen(["/bin/sh", "-c", "echo rank $RANK up; exec sleep 600"], env=environ, user=int(users[k]))
    return subprocess.Popen([sys.executable, "-c", os.environ["RANK_" + ways[k]], f"--rank={k}"], env=environ)
ranks = [start(k) for k in range(len(ways))]
print("pids", *(rank.pid for rank in ranks), flush=True)
while True:
    time.sleep(0.1)
    if os.environ.get("LAUNCHER") == "supervisor":
        ranks = [rank if rank.poll() is None else start(k) for k, rank in enumerate(ranks)]
"""


class Run:
    """`ranks`: their pids. `process`: the launcher, which leads the group of all."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, ranks: list[int]) -> None:
        self.process, self.log, self.ranks = process, log, ranks


@contextmanager
def run_of(
    log: Path, *ways: str, launcher: str = "", users: Mapping[int, int] | None = None, wait_for: int | None = None, **environ: str
) -> Iterator[Run]:
    """A run whose ranks take signals in these ways. `users`: uid by rank. `wait_for`: so many ranks must have come up."""
    programs = {f"RANK_{way}": RANK + RANKS[way] for way in set(ways)}
    names = " ".join(str((users or {}).get(rank, "-")) for rank in range(len(ways)))
    given = {
        **os.environ,
        **programs,
        "WAYS": " ".join(ways),
        "USERS": names,
        "LAUNCHER": launcher,
        "MASTER_PORT": str(quiet_port()),
        **environ,
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER], stdout=output, stderr=output, env=given, start_new_session=True
        )
    try:
        up = len(ways) if wait_for is None else wait_for
        eventually(lambda: log.read_text().count(" up\n") >= up and "pids" in log.read_text(), "the ranks of the run")
        (line,) = [line for line in log.read_text().splitlines() if line.startswith("pids")]
        yield Run(process, log, [int(word) for word in line.split()[1:]])
    finally:
        end_group(process)


_ports = iter(range(20_000 + os.getpid() % 10_000, 32_000))


def quiet_port() -> int:
    """A free port that the system gives to nobody who wants any (those begin at 32768), ours until this process ends: no other
    test of this machine is given it, though what is to listen there takes its time to start."""
    for port in _ports:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            _take(port)
            return port
    raise AssertionError("no port is free")


def _take(port: int) -> None:
    """Raises `OSError` where another test has it. The name of a socket goes with its process and leaves nothing behind."""
    if sys.platform == "linux":
        with socket.socket(socket.AF_UNIX) as name:
            name.bind(f"\0hangtop-test-port-{port}")
            name.detach()


def hangtop(*words: str, environ: Mapping[str, str] | None = None, **options: object) -> subprocess.CompletedProcess[str]:
    """`hangtop WORDS` from a shell."""
    command = [sys.executable, "-m", "hangtop", *words]
    given = {**os.environ, **(environ or {})}
    return subprocess.run(command, env=given, capture_output=True, text=True, check=False, timeout=400, **options)  # type: ignore[call-overload,no-any-return]
