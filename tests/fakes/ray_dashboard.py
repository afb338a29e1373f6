"""A dashboard as Ray 2.60 answers, for as many nodes and workers as a test wants, with its faults. Counts what it is asked.

Also a program: `python -m tests.fakes.ray_dashboard NODES WORKERS [PENDING]` prints its port and serves until stdin ends. Each
`tick` on stdin is a new report of all nodes, and a step in the output of each worker.
"""

from __future__ import annotations

import json
import socketserver
import sys
import threading
import time
from collections import Counter
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

OPEN = ("/api/version", "/api/gcs_healthz", "/api/authentication_mode")
SESSION = "session_2026-01-11_10-00-00_000000_4242"
SOCKET = f"/tmp/ray/{SESSION}/sockets/raylet"
DRIVER, COMMAND = 4_000, "python train.py --password s3cr3t"
REPORT_S = 5.0
"""Agents report so often, and `now` moves so often."""


def node_id(node: int) -> str:
    return f"{node:056x}"


def title(node: int, worker: int) -> str:
    return "ray::WorkerDict.actor_rollout_generate_sequences"


def stats(node: int, worker: int, text: str) -> dict:
    return {
        "pid": 5000 + worker,
        "createTime": 1.0,
        "cpuPercent": 100.0,
        "cpuTimes": {"user": 1.0, "system": 1.0},
        "cmdline": [text] + [""] * 250,
        "memoryInfo": {"rss": 9e7, "vms": 1e9},
    }


def actor(node: int, worker: int, workers: int) -> dict:
    number = node * workers + worker
    return {
        "actorId": f"{number:032x}",
        "jobId": "01000000",
        "address": {"nodeId": node_id(node), "ipAddress": f"10.0.0.{node}", "port": 1, "workerId": f"{number:056x}"},
        "name": f"abc123WorkerDict_{node}:{worker}",
        "className": "create_colocated_worker_cls.<locals>.WorkerDict",
        "state": "ALIVE",
        "numRestarts": "0",
        "pid": 5000 + worker,
        "startTime": 1,
        "endTime": 0,
        "exitDetail": "-",
        "requiredResources": {"CPU": 1.0, "GPU": 0.1},
        "numRunningTasks": "1",
        "numPendingTasks": 0,
        "processStats": stats(node, worker, title(node, worker)),
    }


def pending(number: int) -> dict:
    return {
        "actorId": f"{number:031x}f",
        "jobId": "01000000",
        "address": {"nodeId": "f" * 56, "ipAddress": "", "port": 0, "workerId": "f" * 56},
        "name": "",
        "className": "Waiting",
        "state": "PENDING_CREATION",
        "numRestarts": "0",
        "pid": 0,
        "startTime": 0,
        "endTime": 0,
        "exitDetail": "-",
        "requiredResources": {"NoSuchThing": 1.0},
    }


def detail(node: int, workers: int, now: float, agents: int | None = None) -> dict:
    def worker_of(worker: int) -> dict:
        core = {
            "actorId": f"{node * workers + worker:032x}",
            "numRunningTasks": "1",
            "numPendingTasks": 0,
            "workerType": "WORKER",
        }
        slot = {f"GPUGroup{worker}": {"resourceSlots": [{"slot": str(worker), "allocation": 0.1}]}}
        return {
            **stats(node, worker, title(node, worker)),
            "gpuMemoryUsage": 69000,
            "jobId": "01000000",
            "coreWorkerStats": [{**core, "usedResources": slot}],
        }

    return {
        **summary(node, now, agents),
        "loadAvg": [[1.0, 1.0, 1.0], [0.1, 0.1, 0.1]],
        "workers": [worker_of(w) for w in range(workers)],
    }


def summary(node: int, now: float, agents: int | None = None) -> dict:
    folder = f"/tmp/ray/{SESSION}"
    raylet = {
        "nodeId": node_id(node),
        "state": "ALIVE",
        "isHeadNode": node == 0,
        "sessionDir": folder,
        "rayletSocketName": SOCKET,
    }
    return {
        "now": now,
        "hostname": f"n{node}",
        "ip": f"10.0.0.{node}" if agents is None else "127.0.0.1",
        "cpu": 50.0,
        "cpus": [128, 64],
        "mem": [2e12, 1e12, 50.0, 1e12],
        "raylet": raylet if agents is None else {**raylet, "dashboardAgentListenPort": agents},
    }


def wrapped(data: object) -> bytes:
    return json.dumps({"result": True, "msg": "", "data": data}).encode()


class FakeDashboard:
    """Serves on a free port of loopback. `stall`: these paths get no answer. `gone`: these are not there. `gcs`: the
    status of `/api/gcs_healthz`.

    `token`: ask for it. `frozen`: `now` stands still. `asked`: how often each path was asked, numbers of nodes left out.
    `files`: output files of workers by name, which it gives as a node's agent does (`agents`: it is that of all nodes) and as
    the dashboard does; `sent_bytes` counts what went out of them, `written_at` says when they were written last.
    """

    def __init__(
        self, nodes: int = 1, workers: int = 2, pending_actors: int = 0, token: str | None = None, *, agents: bool = False
    ) -> None:
        self.nodes, self.workers, self.token = nodes, workers, token
        self.asked: Counter[str] = Counter()
        self.stall: set[str] = set()
        self.gone: set[str] = set()
        self.gcs = 200
        self.frozen = False
        self.version = "2.60.0"
        self.session = SESSION
        alive = [actor(n, w, workers) for n in range(nodes) for w in range(workers)]
        self.actors = {row["actorId"]: row for row in [*alive, *(pending(i) for i in range(pending_actors))]}
        self.bodies: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}
        self.written_at = 0.0
        self.sent_bytes = 0
        self.profiling = False
        self.dumps: dict[int, str] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self.port = self._server.server_address[1]
        self._agents = self.port if agents else None
        self.refresh()
        self.address = f"127.0.0.1:{self.port}"
        self._ended = threading.Event()
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def refresh(self, now: float | None = None) -> None:
        """All answers anew, as of `now`."""
        now = time.time() // REPORT_S * REPORT_S if now is None else now
        self.bodies = {
            "/logical/actors": wrapped({"actors": self.actors}),
            "/nodes": wrapped(
                {"summary": [summary(n, now, self._agents) for n in range(self.nodes)], "nodeLogicalResources": {}}
            ),
            **{
                f"/nodes/{node_id(n)}": wrapped({"detail": detail(n, self.workers, now, self._agents)}) for n in range(self.nodes)
            },
        }

    def answer(self, path: str, authorization: str | None, span: str | None = None) -> tuple[int, bytes, dict[str, str]]:
        """Status, body, headers. `span`: the Range that was asked for."""
        plain = urlsplit(path).path
        self.asked[next((many for many in ("/nodes/", "/logs/") if plain.startswith(many)), plain)] += 1
        if plain in self.stall or "*" in self.stall:
            self._ended.wait(60)
        if self.token is not None and plain not in OPEN:
            if authorization is None:
                return 401, b"Unauthorized: Missing authentication token", {}
            if authorization != f"Bearer {self.token}":
                return 403, b"Forbidden: Invalid authentication token", {}
        if plain in self.gone:
            return 404, b"404: Not Found", {}
        if plain == "/api/version":
            said = json.dumps({"version": "4", "ray_version": self.version, "session_name": self.session})
            return 200, said.encode(), {}
        if plain == "/api/gcs_healthz":
            return self.gcs, b"success" if self.gcs == 200 else b"GCS health check timed out.", {}
        if plain == "/api/jobs/":
            driver = {"id": "01000000", "node_ip_address": "10.0.0.0", "pid": str(DRIVER)}
            ended = {
                "type": "DRIVER",
                "job_id": "02000000",
                "driver_info": driver,
                "status": "FAILED",
                "entrypoint": "python old.py",
                "start_time": 950_500,
            }
            return (
                200,
                json.dumps([{**ended, "job_id": "01000000", "status": "RUNNING", "entrypoint": COMMAND}, ended]).encode(),
                {},
            )
        if plain == "/api/profiling_enabled":
            return 200, wrapped({"profilingEnabled": self.profiling}), {}
        asked = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        if plain == "/worker/traceback":
            dump = self.dumps.get(int(asked["pid"]))
            return (200, dump.encode(), {}) if dump else (500, b"Failed to execute: no such process", {})
        if plain.startswith("/logs/"):
            return self._part(plain.removeprefix("/logs/"), span)
        if plain == "/api/v0/logs/file":
            return self._lines(asked["filename"], int(asked["lines"]))
        return 200, self.bodies.get(plain) or wrapped({"result": {"total": 0, "result": []}}), {}

    def _part(self, name: str, span: str | None) -> tuple[int, bytes, dict[str, str]]:
        """As aiohttp serves a static file."""
        if name not in self.files:
            return 404, b"404: Not Found", {}
        data, size = self.files[name], len(self.files[name])
        first, _, last = (span or "bytes=0-").removeprefix("bytes=").partition("-")
        begin = max(0, size - int(last)) if not first else int(first)
        end = min(size, int(last) + 1) if first and last else size
        dates = {"Date": formatdate(time.time(), usegmt=True), "Last-Modified": formatdate(self.written_at, usegmt=True)}
        if begin >= size:
            return 416, b"", {"Content-Range": f"bytes */{size}", "Date": dates["Date"]}
        self.sent_bytes += end - begin
        return 206, data[begin:end], {**dates, "Content-Range": f"bytes {begin}-{end - 1}/{size}"}

    def _lines(self, name: str, count: int) -> tuple[int, bytes, dict[str, str]]:
        if name not in self.files:
            return 500, b"Could not find a log file. Please make sure the given option exists in the cluster.", {}
        body = b"".join(
            self.files[name].splitlines(keepends=True)[-count:] if b"\r" not in self.files[name] else [self.files[name]]
        )
        self.sent_bytes += len(body)
        return 200, body, {}

    def step(self, number: int) -> None:
        """Each worker's bar goes on."""
        for row in self.actors.values():
            name = f"worker-{row['address']['workerId']}-{row['jobId']}-{row['pid']}.err"
            self.files[name] = self.files.get(name, b"") + b"\rtrain: %d/1000 [00:01<00:02, 1.0it/s]" % number

    def close(self) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64
    fake: FakeDashboard

    def handle_error(self, request: object, client_address: object) -> None:
        """Who asked may have gone away meanwhile: nothing of it is printed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *args: object) -> None:
        """Quiet: the tests read `asked`."""

    def do_GET(self) -> None:
        fake = self.server.fake  # type: ignore[attr-defined]
        status, body, told = fake.answer(self.path, self.headers.get("Authorization"), self.headers.get("Range"))
        if self.headers.get("User-Agent") is None:  # as Ray 2.49 does
            status, body = 500, b"500 Internal Server Error"
        more = "".join(f"{name}: {value}\r\n" for name, value in told.items()).encode()
        try:
            self.wfile.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n%b\r\n" % (status, len(body), more))
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:
            self.close_connection = True


def main() -> None:
    fake = FakeDashboard(*(int(word) for word in sys.argv[1:]), agents=True)
    fake.step(0)
    print(fake.port, flush=True)
    for number, line in enumerate(sys.stdin, 1):
        if line.startswith("tick"):
            fake.refresh(time.time())
            fake.step(number)
            print("ticked", flush=True)
    fake.close()


if __name__ == "__main__":
    main()
