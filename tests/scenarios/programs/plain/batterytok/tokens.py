"""Splits lines into tokens, for whoever asks over the socket in this folder."""

import os
import socketserver
from pathlib import Path


class Lines(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            pieces = [word[k : k + 4] for word in line.decode().split() for k in range(0, len(word), 4)]
            self.wfile.write((" ".join(pieces) + "\n").encode())


Path("tokens.sock").unlink(missing_ok=True)
with socketserver.ThreadingUnixStreamServer("tokens.sock", Lines) as server:
    server.daemon_threads = True
    print(f"tokens: service pid {os.getpid()} at tokens.sock", flush=True)
    server.serve_forever()
