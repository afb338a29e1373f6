"""One process looked into, beside what the kernel and the process itself tell of it."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hangtop.system.one_process.inspect import GONE, Inspector
from hangtop.system.processes.open_table import open_table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this of another process")

PROGRAM = """
import socket, sys, threading
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b"x" * 10)
data = open(sys.argv[2]); data.read(5); data.seek(5)
print("there", flush=True)
connection.recv(1)
"""


@pytest.fixture
def target(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], socket.socket]]:
    """A process that waits for an answer of ours, with a file of which it has read 5 bytes."""
    (tmp_path / "data.txt").write_text("0123456789")
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = [sys.executable, "-c", PROGRAM, str(server.getsockname()[1]), str(tmp_path / "data.txt")]
        environ = {**os.environ, "RANK": "3", "WANDB_API_KEY": "0123456789abcdef0123456789abcdef01234567"}
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environ) as process:
            assert process.stdout is not None
            accepted, _ = server.accept()
            process.stdout.readline()
            try:
                yield process, accepted
            finally:
                accepted.close()
                process.kill()


def look(pid: int, start_ticks: int = 0):
    table = open_table()
    table.refresh(())
    return Inspector(table).inspect(1, pid, start_ticks, time.time())


def test_files_sockets_and_the_wait_are_as_the_kernel_has_them(target, tmp_path: Path):
    process, _ = target
    seen = look(process.pid)
    assert seen.problem is None
    data = next(file for file in seen.files if file.target == str(tmp_path / "data.txt"))
    assert data.position == 5
    assert {file.fd for file in seen.files} == {int(name) for name in os.listdir(f"/proc/{process.pid}/fd")}
    connection = next(file for file in seen.files if file.end.object.kind == "tcp")
    assert connection.end.pids == (os.getpid(),)
    assert seen.sockets[connection.end.object.inode].acked_bytes == 11  # the SYN counts as one
    (main,) = seen.threads
    assert main.wait.call.kind == "receive"
    assert main.wait.ends[0].pids == (os.getpid(),)


def test_limits_memory_and_environment_are_its_own(target):
    process, _ = target
    seen = look(process.pid)
    open_files = next(limit for limit in seen.limits if limit.name == "nofile")
    assert (open_files.soft, open_files.hard) == resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    assert open_files.used == len(seen.files)
    told = Path(f"/proc/{process.pid}/status").read_text()
    assert f"VmPeak:\t{seen.memory.peak_bytes // 1024:8} kB" in told
    assert seen.environment["RANK"] == "3"
    assert any(file.path.endswith((".so.6", ".so", "python3")) or "python" in file.path for file in seen.mapped)


def test_another_process_with_the_same_pid_is_not_looked_into(target):
    process, _ = target
    assert look(process.pid, start_ticks=1).problem == GONE


def test_the_command_prints_it_without_secrets(target):
    process, _ = target
    run = subprocess.run(
        [sys.executable, "-m", "hangtop", "inspect", str(process.pid), "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (seen,) = json.loads(run.stdout)["processes"]
    assert seen["environment"]["RANK"] == "3"
    assert "0123456789abcdef" not in run.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_of_another_users_process_the_right_is_named_that_is_missing(target):
    process, _ = target
    script = f"""
import os, sys, time
from hangtop.system.one_process.inspect import Inspector
from hangtop.system.processes.open_table import open_table
table = open_table(); table.refresh(())
os.setgroups([]); os.setgid(65534); os.setuid(65534)
seen = Inspector(table).inspect(1, {process.pid}, 0, time.time())
print(seen.files, seen.environment, sorted(each.part for each in seen.refused), seen.refused[0].mend)
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.startswith("() {} ['environment', 'files', ")
    assert f"sudo hangtop inspect {process.pid}" in said.stdout or "SYS_PTRACE" in said.stdout
