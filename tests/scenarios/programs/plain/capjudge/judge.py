"""Judges captions: for each one its longest common part with every reference."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def common(one, other):
    row = [0] * (len(other) + 1)
    for a in one:
        before = 0
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], before + 1 if a == b else max(row[j], row[j - 1])
    return row[-1]


class Judge(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        scores = [max(common(caption, other) for other in asked["references"]) / len(caption) for caption in asked["captions"]]
        answer = json.dumps(scores).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        return


server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
Path("judge.new").write_text(str(server.server_port))
os.replace("judge.new", "judge.port")
print(f"judge at port {server.server_port}, pid {os.getpid()}", flush=True)
server.serve_forever()
