"""The Ray source against a dashboard that answers, stalls, lies, asks for a token, or has very many actors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from hangtop.diagnosis.facts.ray_health import stale_since, troubles
from hangtop.probe.context import ProbeContext
from hangtop.probe.ray.cluster import Cluster
from hangtop.probe.ray.dashboard.http import Dashboard
from hangtop.probe.ray.dashboard.token import AuthToken, find_token
from hangtop.probe.ray.local.daemons import daemon_of
from hangtop.probe.ray.ray_source import RaySource, parse_address
from hangtop.probe.source import Absent, SourceError
from hangtop.records.ray.cluster import RayCluster, RayJob, RayReading
from hangtop.records.watch_spec import WatchSpec
from hangtop.system.processes.table import Stat
from tests.fakes.processes import PATIENCE_S, python
from tests.fakes.ray_dashboard import DRIVER, SESSION, SOCKET, FakeDashboard, node_id, wrapped


class EmptyTable:
    """A machine without any process of Ray."""

    def __init__(self):
        self.stats: dict[int, Stat] = {}

    def refresh(self, watched):
        pass


@pytest.fixture(autouse=True)
def _no_token(monkeypatch, tmp_path):
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(autouse=True)
def _patient(request, monkeypatch):
    """A slow machine is not taken for a late dashboard, but where that is what a test is about."""
    if "stalls" not in request.fixturenames:
        monkeypatch.setattr(Dashboard.__init__, "__defaults__", (PATIENCE_S,))


@pytest.fixture
def stalls():
    """The dashboard will be late, and is not waited for."""


@pytest.fixture
def fake():
    made: list[FakeDashboard] = []

    def make(*args, **kwargs) -> FakeDashboard:
        made.append(FakeDashboard(*args, **kwargs))
        return made[-1]

    yield make
    for dashboard in made:
        dashboard.close()


@pytest.fixture
def source():
    made: list[RaySource] = []

    def open_source(address: str) -> RaySource:
        made.append(RaySource(ProbeContext(WatchSpec(ray=address)), EmptyTable()))
        return made[-1]

    yield open_source
    for ray_source in made:
        ray_source.close()


def cluster_of(ray: RaySource, now: float) -> RayCluster:
    """The cluster at this look; the same again when nothing changed."""
    (reading,) = (value for value in ray.read(now) if isinstance(value, RayReading))
    return reading.clusters[0]


def test_every_actor_is_joined_with_its_method_rank_gpu_and_node(fake, source):
    dashboard = fake(nodes=2, workers=4)
    found = cluster_of(source(dashboard.address), 1000.0)
    assert found.session == SESSION
    assert found.api.answer == "ok"
    assert sorted(actor.rank for actor in found.actors) == list(range(8))
    last = next(actor for actor in found.actors if actor.rank == 7)
    assert (last.cls, last.state, last.method) == ("WorkerDict", "running", "actor_rollout_generate_sequences")
    assert (last.host, last.gpus, last.ray_pid, last.pid) == ("n1", (3,), 5003, None)
    assert [node.host for node in found.nodes] == ["n0", "n1"]


def test_where_the_nodes_do_not_tell_their_drivers_the_list_of_jobs_does(fake, source):
    """As of Ray 2.49, whose agents know only what a raylet started."""
    (driver,) = cluster_of(source(fake().address), 1000.0).drivers
    assert (driver.job, driver.pid, driver.node) == ("01000000", DRIVER, node_id(0))
    assert driver.command == "python train.py --password ***"


def test_a_job_whose_driver_has_ended_is_told_at_the_first_look_while_actors_of_it_are_left(fake, source):
    dashboard = fake()
    assert cluster_of(source(dashboard.address), 1000.0).past_jobs == ()
    for row in dashboard.actors.values():
        row["jobId"] = "02000000"
    dashboard.refresh()
    assert cluster_of(source(dashboard.address), 1000.0).past_jobs == (RayJob("02000000", 950.5),)


def test_an_older_ray_calls_the_id_of_a_node_otherwise(fake, source):
    dashboard = fake()
    for row in dashboard.actors.values():
        row["address"]["rayletId"] = row["address"].pop("nodeId")
    dashboard.refresh()
    assert {actor.host for actor in cluster_of(source(dashboard.address), 1000.0).actors} == {"n0"}


def test_a_raylet_that_was_not_given_the_id_of_its_node_is_known_by_its_socket(fake):
    """As of Ray 2.9. The path alone is the same on every machine of a cluster."""
    raylet = daemon_of(("/ray/raylet", f"--raylet_socket_name={SOCKET}", "--node_ip_address=10.0.0.1"))
    assert raylet is not None
    cluster = Cluster(SESSION, lambda: None).use_dashboard(fake(nodes=2).address)
    found = cluster.read([raylet], [], 1000.0)
    cluster.close()
    assert {node.host: node.local for node in found.nodes} == {"n0": False, "n1": True}


def test_how_long_a_method_runs_counts_from_when_its_title_changed(fake, source):
    dashboard = fake(nodes=1, workers=2)
    ray = source(dashboard.address)
    first = cluster_of(ray, 1000.0).actors[0]
    assert (first.since, first.since_seen) == (1000.0, True)
    body = dashboard.bodies[f"/nodes/{0:056x}"]
    dashboard.refresh(2000.0)
    dashboard.bodies[f"/nodes/{0:056x}"] = body.replace(b"generate_sequences", b"update_actor")
    second = cluster_of(ray, 1004.0).actors[0]
    assert (second.method, second.since, second.since_seen) == ("actor_rollout_update_actor", 1004.0, False)


def test_a_node_is_asked_again_only_after_its_report_moved(fake, source):
    dashboard = fake(nodes=16, workers=1)
    ray = source(dashboard.address)
    for look in range(5):
        list(ray.read(1000.0 + 2 * look))
    assert dashboard.asked["/nodes/"] == 16
    dashboard.refresh(5000.0)
    list(ray.read(1010.0))
    assert dashboard.asked["/nodes/"] == 32


def test_ten_thousand_actors_are_not_asked_for_more_than_the_server_bears(fake, source):
    dashboard = fake(nodes=1, workers=2, pending_actors=10_000)
    ray = source(dashboard.address)
    found = cluster_of(ray, 1000.0)
    for look in range(1, 10):
        list(ray.read(1000.0 + 2 * look))
    assert found.actors_total == 10_002
    assert len(found.actors) <= 2_048
    assert {actor.state for actor in found.actors} >= {"running", "resources"}
    assert dashboard.asked["/logical/actors"] <= 9, "a list of several MB is not asked for every 2 s"
    assert not any(path.startswith(("/api/v0/actors", "/api/v0/tasks")) for path in dashboard.asked), "they cost the GCS seconds"
    assert sum(dashboard.asked.values()) <= 45


@pytest.mark.usefixtures("stalls")
def test_a_stalled_server_costs_no_more_than_the_deadline_and_old_actors_stay_with_their_age(fake, source):
    dashboard = fake(nodes=1, workers=2)
    ray = source(dashboard.address)
    cluster_of(ray, 1000.0)
    dashboard.stall.add("*")
    began = time.monotonic()
    found = cluster_of(ray, 1002.0)
    assert time.monotonic() - began < 20, "it would answer after a minute"
    assert found.api.answer == "silent"
    assert len(found.actors) == 2
    assert stale_since(found, 1020.0) == 1000.0


def test_a_silent_gcs_behind_a_green_dashboard_is_told(fake, source):
    dashboard = fake()
    ray = source(dashboard.address)
    cluster_of(ray, 1000.0)
    dashboard.gcs = 503
    found = cluster_of(ray, 1002.0)
    assert found.api.answer == "ok"
    assert stale_since(found, 1003.0) == 1002.0
    assert troubles(found, 1003.0)[0].part == "gcs_server"


def test_without_a_token_it_says_what_it_needs(fake, source):
    dashboard = fake(token="s3cr3t-of-the-cluster")
    found = cluster_of(source(dashboard.address), 1000.0)
    assert found.api.answer == "needs_token"
    assert "needs a token" in troubles(found, 1001.0)[0].text


def test_a_token_in_the_file_is_used_and_never_told(fake, tmp_path, capsys, source):
    dashboard = fake(token="s3cr3t-of-the-cluster")
    folder = tmp_path / ".ray"
    folder.mkdir()
    (folder / "auth_token").write_text("s3cr3t-of-the-cluster\n")
    values = list(source(dashboard.address).read(1000.0))
    assert any(isinstance(value, RayReading) and value.clusters[0].actors for value in values)
    assert "s3cr3t" not in repr(values) + repr(AuthToken("s3cr3t")) + "".join(capsys.readouterr())


def test_a_wrong_token_is_told_apart_from_none(fake, monkeypatch, source):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "wrong")
    dashboard = fake(token="right")
    assert cluster_of(source(dashboard.address), 1000.0).api.answer == "wrong_token"


@pytest.mark.parametrize("odd", ["s3cr3t\nHost: elsewhere", "s3cr3t\u20ac"])
def test_a_token_that_fits_into_no_header_is_none_and_is_not_quoted(fake, monkeypatch, source, odd):
    monkeypatch.setenv("RAY_AUTH_TOKEN", odd)
    dashboard = fake(token="right")
    assert cluster_of(source(dashboard.address), 1000.0).api.answer == "needs_token"
    client = Dashboard(dashboard.address, lambda: AuthToken(odd))
    assert client.get("/nodes?view=summary").error == "what is asked is no text for HTTP"
    client.close()


def test_our_token_is_not_given_to_the_cluster_of_another_user(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "mine")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert find_token(1000, {}) is not None
    assert find_token(1001, {}) is None


def test_what_the_raylet_was_started_with_goes_before_a_file_that_a_later_cluster_wrote(monkeypatch, tmp_path):
    def of_raylet(**environ: str) -> str:
        token = find_token(os.geteuid(), {"HOME": str(tmp_path / "home"), **environ})
        return token.header()["Authorization"] if token else ""

    for folder, text in (("", "of another cluster"), ("home", "of its home")):
        (tmp_path / folder / ".ray").mkdir(parents=True)
        (tmp_path / folder / ".ray" / "auth_token").write_text(text)
    assert of_raylet(RAY_AUTH_TOKEN="its own") == "Bearer its own"
    assert of_raylet() == "Bearer of its home"
    assert of_raylet(HOME=str(tmp_path / "none")) == "Bearer of another cluster"
    monkeypatch.setenv("RAY_AUTH_TOKEN", "set by hand")
    assert of_raylet() == "Bearer set by hand"


def test_an_answer_in_another_shape_is_a_matter_of_version_not_a_crash(fake, source):
    dashboard = fake()
    dashboard.bodies["/logical/actors"] = wrapped({"people": []})
    found = cluster_of(source(dashboard.address), 1000.0)
    assert found.api.answer == "strange"
    assert troubles(found, 1001.0)[0].part == "version"


def test_a_path_that_is_gone_is_a_matter_of_version_and_not_an_empty_cluster(fake, source):
    dashboard = fake()
    dashboard.gone.add("/logical/actors")
    found = cluster_of(source(dashboard.address), 1000.0)
    assert found.api.answer == "strange"
    assert found.api.strange == ("/logical/actors",)


@pytest.mark.usefixtures("stalls")
def test_what_is_not_answered_stays_told_between_two_questions(fake, source):
    dashboard = fake()
    ray = source(dashboard.address)
    cluster_of(ray, 1000.0)
    dashboard.stall.add("/api/v0/placement_groups")
    said = [cluster_of(ray, 1012.0).api.late]
    list(ray.read(1014.0))
    said.append(cluster_of(ray, 1018.0).api.late)
    assert said == [("/api/v0/placement_groups",)] * 2


def test_nobody_at_the_address_is_told_as_refused(source):
    found = cluster_of(source("127.0.0.1:1"), 1000.0)
    assert found.api.answer == "refused"


def test_a_machine_without_ray_has_nothing_to_read(source):
    with pytest.raises(Absent, match="no Ray session on this machine"):
        list(source("auto").read(1000.0))
    with pytest.raises(Absent, match="--ray off"):
        list(source("off").read(1000.0))


def test_an_address_that_is_none_is_told_with_an_example():
    assert parse_address("http://head:8265") == "head:8265"
    assert parse_address("ray://head:10001") == "head:8265"
    assert parse_address("head") == "head:8265"
    for text in ("head:port", "https://head:8265", "http://", "not an address"):
        with pytest.raises(SourceError, match=r"--ray .*127\.0\.0\.1:8265"):
            parse_address(text)


def test_a_connection_that_the_server_closed_is_opened_again(fake):
    dashboard = fake()
    client = Dashboard(dashboard.address, lambda: None)
    assert client.get("/api/version").ok
    for connection in client._free:
        connection.sock.shutdown(2)
    assert client.get("/api/version").ok
    client.close()


def test_an_answer_that_leads_elsewhere_is_not_followed(fake, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "s3cr3t")
    there, requests = fake(token="s3cr3t"), []

    class Leads(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://{there.address}/logical/actors")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Leads) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        answer = Dashboard(f"127.0.0.1:{server.server_port}", lambda: find_token(None, {})).get("/x")
    assert (answer.status, answer.body, requests) == (302, b"", ["/x"])
    assert not there.asked


def test_a_path_that_is_no_text_for_http_is_an_answer_and_no_crash(fake):
    assert Dashboard(fake().address, lambda: None).get("/nodes/\u00e9").error == "what is asked is no text for HTTP"


def test_a_body_that_comes_in_drops_is_cut_off_at_the_deadline(fake):
    import socket

    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            while not ended.wait(0.05):
                try:
                    connection.sendall(b".")
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    answer = Dashboard(f"127.0.0.1:{listener.getsockname()[1]}", lambda: None, 0.5).get("/x")
    ended.set()
    thread.join()
    listener.close()
    assert answer.late, "whole it would be after 50 s"


ENDLESS = """
import itertools, socket, sys, threading
HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
KINDS = {
    "body": lambda: itertools.chain([HEAD], itertools.repeat(b"100000\\r\\n" + b"x" * 0x100000 + b"\\r\\n")),
    "interim": lambda: itertools.repeat(b"HTTP/1.1 100 Continue\\r\\nA: " + b"x" * 30_000 + b"\\r\\n\\r\\n"),
    "headers": lambda: itertools.chain([b"HTTP/1.1 200 OK\\r\\n"], itertools.repeat(b"A: " + b"x" * 60_000 + b"\\r\\n")),
}

def serve(peer):
    try:
        for part in KINDS[sys.argv[1]]():
            peer.sendall(part)
    except OSError:
        pass

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
CLIENT = """
import resource, sys
from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.http.at_once import CONNECTIONS
from hangtop.probe.ray.dashboard.http import Dashboard
import hangtop.probe.http.connection
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
client = Dashboard("127.0.0.1:" + sys.argv[1], lambda: None, 90.0)
for look in range(3):
    print(*{answer.in_words for answer in client.get_all([f"/{look}/{number}" for number in range(12)])}, sep="; ")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("kind", ["body", "interim", "headers"])
def test_a_dashboard_that_answers_without_end_is_cut_off_and_costs_little_memory(kind):
    """In a process of its own, whose memory is measured: twelve questions on four connections, three times."""
    with python(ENDLESS, kind, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        port = server.stdout.readline().decode().strip()
        done = subprocess.run([sys.executable, "-c", CLIENT, port], capture_output=True, text=True, timeout=300, check=True)
    *said, grown_kb = done.stdout.splitlines()
    assert all("MiB" in line or "100 headers" in line for line in said), said
    assert int(grown_kb) < 100_000
