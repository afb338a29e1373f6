"""A reward for a text. Long texts are split first: that is an endpoint too, for the annotators use it."""

import json
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Reward(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"]
        if self.path == "/split":
            answer: object = [text[at : at + 400] for at in range(0, len(text), 400)]
        else:
            parts = [text] if len(text) <= 400 else self.split(text)
            answer = sum(len(set(part)) / 26 for part in parts) / len(parts)
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def split(self, text: str) -> list[str]:
        url = f"http://127.0.0.1:{self.server.server_address[1]}/split"
        with urllib.request.urlopen(url, json.dumps({"text": text}).encode()) as reply:
            return json.load(reply)

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Reward)
Path(sys.argv[2]).write_text(str(server.server_address[1]))
print(f"reward model ready on {server.server_address[1]}", flush=True)
server.serve_forever()
