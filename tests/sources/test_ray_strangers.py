"""Another user's process that names our Ray session, or took its port, is neither asked nor told anything. Two real users."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hangtop.probe.context import ProbeContext
from hangtop.probe.http import connection
from hangtop.probe.ray.dashboard.http import Dashboard
from hangtop.probe.ray.dashboard.ray_python import RayPython
from hangtop.probe.ray.dashboard.token import find_token
from hangtop.probe.ray.ray_source import RaySource
from hangtop.probe.source import Absent
from hangtop.records.ray.cluster import RayCluster, RayReading
from hangtop.records.watch_spec import WatchSpec
from tests.fakes.launched import needs_root
from tests.fakes.processes import PATIENCE_S, Family, running
from tests.fakes.ray_dashboard import SESSION, FakeDashboard
from tests.fakes.runs import quiet_port

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="whose socket it is, is read from /proc"),
    needs_root,
]

STRANGER = 23_001
SECRET = "s3cr3t-of-the-cluster"
OURS = f"hangtop-of-{os.getpid()}"
"""What this test calls itself where it asks: hangtop of other tests may list the sessions of this machine, and cannot see the
folder of this one from a room of their own."""
SERVER = """
import os, socketserver, sys
from http.server import BaseHTTPRequestHandler

class Asked(BaseHTTPRequestHandler):
    def do_GET(self):
        print("ASKED", self.path, self.headers.get("Authorization"), self.headers.get("User-Agent"), flush=True)
        self.send_error(401)

    def log_message(self, *args):
        pass

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True

os.setgroups([])
os.setresgid(23001, 23001, 23001)
os.setresuid(23001, 23001, 23001)
Server(("127.0.0.1", int(sys.argv[1].partition("=")[2])), Asked).serve_forever()
"""


class Place:
    """A folder that every user reaches, with a session of root's in it, and programs by the names of Ray's own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.session = root / "ray" / SESSION
        (self.session / "logs").mkdir(parents=True)
        self.script = root / "ray" / "dashboard" / "dashboard.py"
        self.script.parent.mkdir()
        self.script.write_text(SERVER)
        self.said = root / "asked"
        shutil.copy("/bin/sh", root / "raylet")

    @contextmanager
    def raylet(self, dashboard: str, user: int = 0, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
        """It waits for ever; its arguments are those of a raylet."""
        worker = f"--python_worker_command={sys.executable} default_worker.py --webui={dashboard}"
        argv = (str(self.root / "raylet"), "-pc", "echo up; read nothing", "raylet", f"--session_dir={self.session}", worker)
        more = ("--head", "--gcs-address=127.0.0.1:1")
        env = dict(os.environ) | environ
        with running(
            *argv, *more, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, user=user, group=user, extra_groups=[]
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            yield process

    @contextmanager
    def impostor(self, port: int = 0) -> Iterator[int]:
        """A server that became the stranger's; its command line says that it is the dashboard of root's session. Its port."""
        port = port or quiet_port()
        argv = (sys.executable, str(self.script), f"--port={port}", "--host=127.0.0.1", f"--session-dir={self.session}")
        with self.said.open("wb") as said, running(*argv, stdout=said) as process:
            until = time.monotonic() + PATIENCE_S
            while not _answers(port):
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.05)
            yield port

    @property
    def asked(self) -> list[str]:
        """What this test asked, and what came with the cluster's secret from anybody."""
        lines = (line for line in self.said.read_text().splitlines() if line.startswith("ASKED"))
        return [line.removesuffix(f" {OURS}") for line in lines if line.endswith(OURS) or SECRET in line]


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(connection, "NAME", {"User-Agent": OURS})
    monkeypatch.setitem(Dashboard.__init__.__kwdefaults__, "owner", None)
    monkeypatch.setattr(Dashboard.__init__, "__defaults__", (PATIENCE_S,))
    with tempfile.TemporaryDirectory(prefix="htsession-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Place(Path(folder))


@pytest.fixture
def fake() -> Iterator[FakeDashboard]:
    dashboard = FakeDashboard(token=SECRET)
    yield dashboard
    dashboard.close()


def seen(ends: ExitStack, looks: int = 3) -> list[RayCluster]:
    """The clusters of this test's own processes, after some looks."""
    source = RaySource(ProbeContext(WatchSpec()), Family())
    ends.callback(source.close)
    found: list[RayCluster] = []
    for look in range(looks):
        for value in source.read(time.time() + 10.0 * look):
            if isinstance(value, RayReading):
                found = list(value.clusters)
    return found


def test_a_stranger_that_names_our_session_is_not_asked_and_ours_is(place, fake, ends):
    with place.raylet(fake.address, RAY_AUTH_TOKEN=SECRET), place.impostor():
        (cluster,) = seen(ends)
    assert place.asked == []
    assert (cluster.uid, cluster.api.address, cluster.api.answer) == (0, fake.address, "ok")
    assert len(cluster.parts) == 1


def test_who_took_the_port_of_our_dead_dashboard_is_not_asked_and_that_is_said(place, ends):
    with place.impostor() as port, place.raylet(f"127.0.0.1:{port}", RAY_AUTH_TOKEN=SECRET):
        (cluster,) = seen(ends)
    assert place.asked == []
    assert f"uid {STRANGER}" in cluster.api.problem


def test_an_address_that_was_named_gets_no_token_where_a_stranger_listens(place, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", SECRET)
    with place.impostor() as port:
        dashboard = Dashboard(f"127.0.0.1:{port}", lambda: find_token(None, {}))
        assert dashboard.get("/asked/by/this/test").status == 401
        dashboard.close()
    assert place.asked == ["ASKED /asked/by/this/test None"] * 2


def test_root_reads_no_file_for_the_environment_of_another_user(tmp_path):
    """Nor is it led there by a link, or by a home that is not theirs."""
    (tmp_path / ".ray").mkdir()
    for name in ("secret", ".ray/auth_token"):
        (tmp_path / name).write_text(SECRET)
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    for environ in (
        {"RAY_AUTH_TOKEN_PATH": str(tmp_path / "secret")},
        {"RAY_AUTH_TOKEN_PATH": str(tmp_path / "link")},
        {"HOME": str(tmp_path)},
    ):
        assert find_token(STRANGER, environ) is None
    os.chown(tmp_path / "secret", STRANGER, STRANGER)
    assert find_token(STRANGER, {"RAY_AUTH_TOKEN_PATH": str(tmp_path / "secret")}) is not None


def test_the_python_of_another_user_gets_no_environment_of_ours(place, monkeypatch):
    """Nor while that of its raylet is not read yet: that user may read the memory of the child."""
    monkeypatch.setenv("RAY_AUTH_TOKEN", SECRET)
    program = place.root / "python"
    program.write_text('#!/bin/sh\necho "hangtop <$RAY_AUTH_TOKEN>"\n')
    program.chmod(0o755)
    for uid, told in ((0, SECRET), (STRANGER, "")):
        child = RayPython(str(program), "127.0.0.1:1", uid=uid).start("hangtop_tables.py")
        assert child.has_ended(PATIENCE_S)
        assert list(child.answers()) == [f"<{told}>".encode()]
        child.end()


def test_a_program_that_acts_for_another_user_does_not_speak_for_them(place, ends):
    """A set-user-id program bears whatever command line its caller liked."""
    os.chmod(place.root / "raylet", 0o4755)
    with place.raylet("127.0.0.1:1", user=STRANGER), pytest.raises(Absent):
        seen(ends, 1)
