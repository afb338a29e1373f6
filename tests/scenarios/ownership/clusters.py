"""Real Ray clusters in a room: Ada's own, and those of others."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from tests.fakes.ray_cluster import wait_for
from tests.scenarios.ownership import crowd
from tests.scenarios.ownership.rooms import as_user

JOB = Path(__file__).parent / "programs" / "ray_job.py"
START_S, TRIES = 300.0, 3


class Cluster:
    """A head of `user` with this GCS port. `options`: of `ray start`."""

    def __init__(self, key: str, user: str, port: int, dashboard: int | None) -> None:
        self.key, self.user, self.port, self.dashboard = key, user, port, dashboard
        self.folder = Path("/tmp/clusters", key)
        self.folder.mkdir(parents=True, mode=0o777)
        self.folder.chmod(0o777)
        self.session = ""
        self.pid_files: list[Path] = []

    def start(self, *options: str) -> None:
        words = ["ray", "start", "--head", f"--port={self.port}", "--num-cpus=1", "--object-store-memory=100000000"]
        words += ["--node-ip-address=127.0.0.1", "--disable-usage-stats", *options]
        words += [f"--dashboard-port={self.dashboard}"] if self.dashboard else ["--include-dashboard=false"]
        for _ in range(TRIES):
            if self._started(words):
                break
            crowd.end(self.pids())
        else:
            raise AssertionError((self.folder / "start.out").read_text(errors="replace")[-2000:])
        words_of_raylet = Path(f"/proc/{self.daemon('raylet')}/cmdline").read_text()
        found = re.search(r"session_\d{4}[\d_-]+", words_of_raylet)
        assert found, words_of_raylet
        self.session = found[0]

    def _started(self, words: list[str]) -> bool:
        """On a machine with far too much to do, `ray start` gives up waiting for its own GCS."""
        with (self.folder / "start.out").open("wb") as out:
            done = subprocess.run(words, stdout=out, stderr=out, timeout=START_S, check=False, **self._environ())  # type: ignore[call-overload]
        return done.returncode == 0

    def _environ(self, mark: str | None = None, **more: str) -> dict[str, object]:
        options = as_user(self.user)
        return {**options, "env": {**options["env"], "MATRIX_RUN": mark or self.key, **more}, "cwd": self.folder}  # type: ignore[dict-item]

    @property
    def marks(self) -> tuple[str, ...]:
        """Words that stand for this cluster alone."""
        return (self.session, f":{self.port}", *((f":{self.dashboard}",) if self.dashboard else ()))

    def pids(self) -> set[int]:
        return crowd.own(self.key, crowd.beings())

    def daemon(self, name: str) -> int:
        (pid,) = [pid for pid in self.pids() if Path(f"/proc/{pid}/comm").read_text().strip() == name]
        return pid

    def signal(self, name: str, number: str) -> None:
        """`gcs_server`, `raylet`, or `all`."""
        for pid in self.pids() if name == "all" else {self.daemon(name)}:
            os.kill(pid, signal.Signals[f"SIG{number}"])

    def job(self, way: str, name: str) -> None:
        """Somebody's job on this cluster, under way when this returns."""
        pids = self.folder / f"{name}.pids"
        self.pid_files.append(pids)
        out = self.folder / f"{name}.out"
        words = [sys.executable, str(JOB), f"127.0.0.1:{self.port}", str(pids), way, name]
        command = f"exec {shlex.join(words)} > {out} 2>&1 < /dev/null"
        subprocess.run(["setsid", "--fork", "bash", "-c", command], check=True, **self._environ(f"{self.key}-{name}"))  # type: ignore[call-overload]
        up = "UP" if way == "detached" else "step:"
        wait_for(lambda: out.exists() and up in out.read_text(errors="replace"), START_S)

    def end_driver(self, name: str) -> None:
        here = crowd.beings()
        crowd.end(being.pid for being in here.values() if being.run == f"{self.key}-{name}")

    def actors(self) -> set[int]:
        """The pids of all actors of jobs here, as they told them."""
        return {int(line) for file in self.pid_files if file.exists() for line in file.read_text().split()}
