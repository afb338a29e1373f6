"""A debug server of PyTorch that may be any server: each path has a function that writes the answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]
SLEEPS = """Current thread 0x00007f589effd6c0 (most recent call first):
  <no Python frame>

Thread 0x00007f58a0ffd6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait

Thread 0x00007f58ce5ffb80 (most recent call first):
  File "/home/me/train.py", line 7 in wait_for_disk
  File "/home/me/train.py", line 20 in <module>
"""


def says(body: str | bytes, status: int = 200, **headers: str) -> Answer:
    """An answer of this text."""
    data = body.encode() if isinstance(body, str) else body

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)

    return answer


def flight(enqueued: int, called_at: float, completed: int = 3) -> str:
    """The flight recorder of a rank as PyTorch 2.13 prints it for gloo, shortened."""
    entry = {
        "collective_seq_id": enqueued,
        "input_sizes": [[4]],
        "is_p2p": False,
        "process_group": ["0", "default_pg"],
        "profiling_name": "gloo:all_reduce",
        "state": "scheduled",
        "time_created_ns": int(called_at * 1e9),
    }
    status = {"0": {"last_completed_collective": str(completed), "last_enqueued_collective": str(enqueued)}}
    return json.dumps({"entries": [entry], "pg_status": status, "version": "2.10"})


def worker(flight_record: str | bytes = "{}", stacks: str | bytes = SLEEPS) -> dict[str, Answer]:
    """The paths of the server of a rank."""
    names = json.dumps(["torch_profile", "dump_traceback", "fr_trace_json", "ping"])
    return {
        "GET /handler/": says(names),
        "POST /handler/fr_trace_json": says(flight_record),
        "POST /handler/dump_traceback": says(stacks),
    }


@contextmanager
def debug_server(answers: Mapping[str, Answer]) -> Iterator[tuple[int, list[str]]]:
    """Its port, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            answers.get(asked[-1], says("", 404))(self)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(ConnectionError):  # the visitor had enough
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        server.server_close()
