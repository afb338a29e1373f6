"""The far side of an upload or a download: takes or gives RATE bytes each second, or never answers. Prints its port first.

It runs in a session of its own, as a server does that is no part of the run.
"""

from __future__ import annotations

import socket
import sys
import threading
import time

TICK_S = 0.5


def main(rate: int) -> None:
    """Serve until killed."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(listener.getsockname()[1], flush=True)
        while True:
            peer, _ = listener.accept()
            threading.Thread(target=_serve, args=(peer, rate), daemon=True).start()


def _serve(peer: socket.socket, rate: int) -> None:
    head = bytearray()
    while not head.endswith(b"\n"):
        byte = peer.recv(1)
        if not byte:
            return
        head += byte
    word, size = head.split()
    if word == b"WAIT":
        threading.Event().wait()
    left, part = int(size), max(1, int(rate * TICK_S))
    while left > 0:
        if word == b"PUT":
            taken = len(peer.recv(min(part, left)))
            if not taken:
                return
            left -= taken
        else:
            peer.sendall(b"\0" * min(part, left))
            left -= min(part, left)
        time.sleep(TICK_S)
    if word == b"PUT":
        peer.sendall(b"OK\n")
    peer.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
