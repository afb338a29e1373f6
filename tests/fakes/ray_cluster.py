"""A real Ray cluster on loopback that touches nothing outside: own folder, own ports, own home, and marked processes.

`ray stop` is never used: it ends every cluster of the machine. Each process of ours carries a mark in its environment, or works
in our folder, and only those are ended, held by pidfd so that a pid that was reused is never hit.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from hangtop.system.processes.table import ProcessTable, Stat
from tests.fakes.processes import PATIENCE_S
from tests.fakes.runs import quiet_port

MARK = "HANGTOP_TEST_RAY"
PROGRAMS = Path(__file__).parent / "ray_programs"
RAY = Path(sys.executable).with_name("ray")
START_S = 300.0
ZOO = {
    "idle": "idle",
    "locked": "running",
    "asks_too_much": "resources",
    "needs_argument": "argument",
    "slow_init": "constructing",
    "restarting": "restarting",
    "crashed": "dead",
    "bad_init": "dead",
}
"""The actors of `zoo.py` by name, and in which state each is."""


def missing() -> str | None:
    """Why no cluster can be started here; `None` when one can."""
    if not sys.platform.startswith("linux"):
        return "real Ray is tested on Linux only"
    if find_spec("ray") is None or not RAY.exists():
        return 'Ray is not installed beside this Python: pip install "ray[default]==2.60.0"'
    return None


class RealRay:
    """One head and what runs on it. The folder is short: Ray's sockets live in it, and their paths may have 107 bytes."""

    def __init__(self, *, token: str | None = None, variables: Mapping[str, str] = {}) -> None:
        self.mark = uuid.uuid4().hex
        self.folder = Path(tempfile.mkdtemp(prefix="htray-", dir="/tmp"))
        self.port, self.dashboard_port = quiet_port(), quiet_port()
        self.token, self._variables = token, variables
        self.gcs_address = ""
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def environ(self) -> dict[str, str]:
        """For everything of this cluster. Own home: `ray start` looks for a token there, and may write one."""
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "COVERAGE", "PYTEST"))}
        auth = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token} if self.token else {"RAY_AUTH_MODE": "disabled"}
        ours = {MARK: self.mark, "HOME": str(self.folder), "RAY_USAGE_STATS_ENABLED": "0", "PYTHONUNBUFFERED": "1"}
        tools = {"PATH": f"{RAY.parent}{os.pathsep}{plain.get('PATH', '')}"}
        return plain | auth | ours | tools | {"RAY_DEDUP_LOGS": "0", "RAY_enable_metrics_collection": "0", **self._variables}

    def start(self, *options: str) -> None:
        """`ray start --head`; returns when the dashboard answers."""
        command = [
            str(RAY), "start", "--head", f"--port={self.port}", f"--dashboard-port={self.dashboard_port}",
            f"--dashboard-agent-listen-port={quiet_port()}", f"--ray-client-server-port={quiet_port()}",
            f"--temp-dir={self.folder / 'r'}", "--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats",
            "--node-ip-address=127.0.0.1", *options,
        ]  # fmt: skip
        self._carry_out(command)
        raylet = self.pid_of("raylet")
        words = Path(f"/proc/{raylet}/cmdline").read_bytes().split(b"\0")
        self.gcs_address = next(word.partition(b"=")[2].decode() for word in words if word.startswith(b"--gcs-address="))
        if "--include-dashboard=false" not in options:
            wait_for(self._dashboard_listens, START_S)

    def _dashboard_listens(self) -> bool:
        """Before Ray 2.50 `ray start` did not wait for that."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.dashboard_port)) == 0

    def join(self, nodes: int = 1) -> None:
        """More raylets on this machine, one after the other: each is a node of its own for Ray."""
        for _ in range(nodes):
            command = [str(RAY), "start", f"--address={self.gcs_address}", "--num-cpus=1", "--object-store-memory=100000000"]
            command += ["--disable-usage-stats", f"--dashboard-agent-listen-port={quiet_port()}"]
            self._carry_out(command)

    def _carry_out(self, command: list[str]) -> None:
        """Once more if it must be: Ray gives its daemons 30 s to come up, and a crowded machine may take longer."""
        before = set(self.pids())
        if not self._starts(command):
            for pid in set(self.pids()) - before:
                with contextlib.suppress(OSError, AssertionError):
                    self.signal(pid, signal.SIGKILL)
            assert self._starts(command), (self.folder / "start.out").read_text(errors="replace")[-2000:]

    def _starts(self, command: list[str]) -> bool:
        """Carry out a `ray start`; returns whether it came up. Its daemons keep its output open, so that goes to a file."""
        with (self.folder / "start.out").open("ab") as out:
            done = subprocess.run(
                command,
                env=self.environ,
                cwd=self.folder,
                stdout=out,
                stderr=out,
                timeout=START_S,
                start_new_session=True,
                check=False,
            )
        return done.returncode == 0

    def run(self, program: str, *arguments: str, until: str, timeout_s: float = START_S) -> subprocess.Popen[bytes]:
        """Start one of `ray_programs` and wait until it says `until`."""
        path = self.folder / f"{program}-{len(self._started)}.out"
        with path.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, str(PROGRAMS / program), self.gcs_address, *arguments],
                env=self.environ, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        self._started.append(process)
        wait_for(lambda: until in path.read_text(errors="replace") or process.poll() is not None, timeout_s)
        said = path.read_text(errors="replace")
        assert until in said, said[-3000:]
        return process

    def pids(self) -> list[int]:
        """All processes of this cluster."""
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self._is_ours(entry)]

    def pid_of(self, name: str) -> int:
        """The only process of this cluster whose name, or title, begins so."""
        found = [pid for pid in self.pids() if _name(pid).startswith(name) or _title(pid).startswith(name)]
        assert len(found) == 1, (name, found)
        return found[0]

    def signal(self, pid: int, number: signal.Signals) -> None:
        """Send a signal to a process of this cluster, and to none else."""
        handle = os.pidfd_open(pid)
        try:
            assert self._is_ours(Path(f"/proc/{pid}"))
            signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)

    def close(self) -> None:
        """End all of it, again until nothing is left: a raylet may just be starting a worker."""
        end = time.monotonic() + PATIENCE_S
        while (left := self.pids()) and time.monotonic() < end:
            for pid in left:
                with contextlib.suppress(OSError, AssertionError):
                    self.signal(pid, signal.SIGKILL)
            time.sleep(0.1)
        for process in self._started:
            process.wait(PATIENCE_S)
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not left, f"these processes of the test cluster did not end: {left}"

    def _is_ours(self, folder: Path) -> bool:
        try:
            marked = f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes()
            if not marked and os.readlink(folder / "cwd") != str(
                self.folder
            ):  # an agent's title takes the place of its environment
                return False
            return (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
        except OSError:  # gone, or not ours to see
            return False


class OnlyHead:
    """A process table from which all raylets but one are gone, with everything below them: their nodes are then other machines,
    of which only the dashboard tells. The head's is the one that stays."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._stats: Mapping[int, Stat] = {}

    @property
    def stats(self) -> Mapping[int, Stat]:
        return self._stats

    def refresh(self, watched: Collection[int] = ()) -> None:
        self._table.refresh(watched)
        stats = self._table.stats
        away = {pid for pid, stat in stats.items() if stat.name == "raylet" and "--head" not in self._table.command(pid)}
        while below := {pid for pid, stat in stats.items() if stat.ppid in away} - away:
            away |= below
        self._stats = {pid: stat for pid, stat in stats.items() if pid not in away}

    def __getattr__(self, name: str) -> object:
        return getattr(self._table, name)


def wait_for(holds: Callable[[], object], timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, f"did not come about within {timeout_s:g} s"
        time.sleep(0.1)


@contextlib.contextmanager
def real_ray(*options: str, token: str | None = None, variables: Mapping[str, str] = {}) -> Iterator[RealRay]:
    cluster = RealRay(token=token, variables=variables)
    try:
        cluster.start(*options)
        yield cluster
    finally:
        cluster.close()


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode("utf-8", "replace")
    except OSError:
        return ""
