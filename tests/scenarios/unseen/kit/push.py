"""A child that uploads: PORT SIZE."""

from __future__ import annotations

import os
import socket
import sys


def main(port: int, size: int) -> None:
    """Send the bytes and wait for the receipt."""
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(b"PUT %d\n" % size)
        peer.sendall(os.urandom(size))
        peer.recv(16)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
