"""Serves the run's last figures for the collector."""

import argparse
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Metrics(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = Path("metrics.prom").read_bytes() if Path("metrics.prom").exists() else b""
        self.send_response(200)
        self.send_header("content-type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)


parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=9400)
server = HTTPServer(("127.0.0.1", parser.parse_args().port), Metrics)
print(f"exporter: listening on :{server.server_port}", flush=True)
server.serve_forever()
