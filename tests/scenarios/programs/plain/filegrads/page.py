"""The last lines of all ranks, for a browser."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        lines = [path.read_text().splitlines()[-1:] for path in sorted(Path("logs").iterdir())]
        body = "\n".join(line for last in lines for line in last).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    Path("page.port").write_text(str(server.server_address[1]))
    server.serve_forever()
