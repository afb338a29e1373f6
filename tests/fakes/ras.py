"""A port that speaks as NCCL's RAS does, or as its test wants (src/ras/client_support.cc of NCCL)."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def ras_port(talk: Callable[[socket.socket], None], held: socket.socket | None = None) -> Iterator[tuple[str, int]]:
    """A port at which `talk` speaks with each client. `held`: the listening socket, where a rank is to hold it as well: then the
    port is that rank's."""
    with held or socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    talk(client)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def nccl(answers: dict[str, str], status: str, pieces: int = 3) -> Callable[[socket.socket], None]:
    """Speaks as NCCL's RAS does: one line for each command, the status in pieces, then the end."""

    def talk(client: socket.socket) -> None:
        for line in client.makefile("r"):
            command = line.strip()
            if command == "STATUS":
                step = len(status) // pieces + 1
                for start in range(0, len(status), step):
                    client.sendall(status[start : start + step].encode())
                    time.sleep(0.02)
                return
            client.sendall((next(said for given, said in answers.items() if command.startswith(given)) + "\n").encode())

    return talk


NEW = {"CLIENT PROTOCOL": "SERVER PROTOCOL 2", "TIMEOUT": "OK", "SET FORMAT": "OK"}
OLD = {"CLIENT PROTOCOL": "SERVER PROTOCOL 2", "TIMEOUT": "OK", "SET FORMAT": "ERROR: Unknown command SET FORMAT json"}
