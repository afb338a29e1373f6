"""A batch service as the big ones have it: take a batch, score it by a process of its own, tell how far it is."""

import http.server
import json
import subprocess
import sys
from pathlib import Path

jobs: dict[int, "subprocess.Popen[str]"] = {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        number = len(jobs) + 1
        jobs[number] = subprocess.Popen([sys.executable, "score.py", body.decode()], stdout=subprocess.PIPE, text=True)
        self.answer({"id": number, "status": "queued"})

    def do_GET(self) -> None:
        kind, number = self.path.strip("/").split("/")[:2]
        if kind == "example":
            return self.answer({"id": int(number), "text": f"sample {number} " * 400}, partial=int(number) % 23 == 0)
        job = jobs[int(number)]
        if job.poll() is None:
            return self.answer({"id": int(number), "status": "in_progress"})
        path = Path(f"out-{number}.json")
        if not path.exists():
            path.write_text(job.stdout.read() if job.stdout else "")
        return self.answer({"id": int(number), "status": "completed", "scores": json.loads(path.read_text())})

    def answer(self, thing: object, partial: bool = False) -> None:
        data = json.dumps(thing).encode()
        self.send_response(206 if partial else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
Path("port").write_text(str(server.server_address[1]))
server.serve_forever()
