"""Nearest texts by their hashes: a line of JSON with texts comes, a line with how many are known goes back."""

import argparse
import hashlib
import json
import socketserver
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("--rebuild-after", type=int, default=10**9, help="requests after which the index is built again")
parser.add_argument("--rounds", type=int, default=2500)
parser.add_argument("--background", action="store_true", help="build in a thread of its own")
given = parser.parse_args()

guard = threading.Lock()
index: set[bytes] = set()
requests = 0


def signature(text: str, rounds: int) -> bytes:
    value = text.encode()
    for _ in range(rounds):
        value = hashlib.blake2b(value, digest_size=8).digest()
    return value


def rebuild() -> None:
    """All signatures are made again, with more rounds."""
    fresh = {signature(value.hex(), given.rounds * 40) for value in list(index)[:400]}
    index.update(fresh)


def rebuild_in_background() -> None:
    with guard:
        rebuild()


class Texts(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        global requests
        for line in self.rfile:
            texts = json.loads(line)
            with guard:
                requests += 1
                if requests % given.rebuild_after == 0:
                    if given.background:
                        worker = threading.Thread(target=rebuild_in_background, name="rebuild")
                        worker.start()
                        worker.join()
                    else:
                        rebuild()
                marks = [signature(text, 60) for text in texts]
                known = sum(mark in index for mark in marks)
                index.update(marks)
            self.wfile.write(json.dumps(known).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


with Server(("127.0.0.1", 0), Texts) as server:
    print(server.server_address[1], flush=True)
    time.sleep(0.1)
    server.serve_forever()
