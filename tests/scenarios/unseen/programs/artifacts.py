"""A trainer that hands artifacts to an uploading child, which sends them to a store that takes its time."""

from __future__ import annotations

import argparse
import os
import socket
import socketserver
import subprocess
import sys
import time
from pathlib import Path

EVERY = 7


class Store(socketserver.StreamRequestHandler):
    """Takes a file, a few kB at a time."""

    def handle(self):
        size = int(self.rfile.readline())
        while size > 0:
            part = self.rfile.read(min(size, 8192))
            if not part:
                return
            size -= len(part)
            time.sleep(0.05)
        self.wfile.write(b"stored\n")


def serve(ready):
    """The store."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Store) as server:
        server.daemon_threads = True
        ready.write_text(str(server.server_address[1]))
        server.serve_forever()


def push(port, path):
    """The uploading child."""
    data = path.read_bytes()
    with socket.create_connection(("127.0.0.1", port)) as store:
        store.sendall(f"{len(data)}\n".encode())
        store.sendall(data)
        answer = store.recv(100)
    if answer != b"stored\n":
        sys.exit("upload refused")


def train(folder, port, steps):
    """The loop, which waits for the upload before it before a new one."""
    argv, uploading, loss = [sys.executable, __file__, "--folder", str(folder), "--push"], None, 3.0
    for step in range(steps):
        noise = sum(os.urandom(400)) / 400 / 255
        loss = 0.97 * loss + 0.03 * noise
        time.sleep(0.2)
        print(f"[{time.strftime('%d/%m/%Y %H:%M:%S')}] trainer INFO step {step} - loss: {loss:.4f}", flush=True)
        if step % EVERY == EVERY - 1:
            if uploading is not None and uploading.wait():
                raise RuntimeError("artifact upload failed")
            artifact = folder / "artifact.bin"
            artifact.write_bytes(os.urandom(60_000))
            uploading = subprocess.Popen([*argv, str(port)])
    if uploading is not None:
        uploading.wait()
    print("run finished, artifacts synced", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--push", type=int)
    parser.add_argument("--serve", action="store_true")
    given = parser.parse_args()
    ready = given.folder / "store.port"
    if given.push:
        push(given.push, given.folder / "artifact.bin")
        return
    if given.serve:
        serve(ready)
        return
    store = subprocess.Popen([sys.executable, __file__, "--folder", str(given.folder), "--serve"], start_new_session=True)
    while not ready.exists() or not ready.read_text():
        time.sleep(0.1)
    train(given.folder, int(ready.read_text()), given.steps)
    store.terminate()


if __name__ == "__main__":
    main()
