"""A port that is free at this moment."""

from __future__ import annotations

from socket import socket


def free_port() -> int:
    with socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
