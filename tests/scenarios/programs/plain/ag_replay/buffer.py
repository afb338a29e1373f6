"""Keeps the newest episodes of each actor; the learner gets one of each, newer than the last."""

import os
import queue
import socket
import threading
import time

import wire


def serve(line: socket.socket, shelves: list["queue.Queue[bytes]"]) -> None:
    who = wire.receive(line)
    if who == b"actor":
        shelf: queue.Queue[bytes] = queue.Queue(maxsize=4)
        shelves.append(shelf)
        wire.send(line, b"ok")
        while (body := wire.receive(line)) is not None:
            shelf.put(body)
            wire.send(line, b"ok")
        return
    while len(shelves) < 2:
        time.sleep(0.2)
    while wire.receive(line) is not None:
        wire.send(line, b"".join(shelf.get()[:4096] for shelf in shelves))


def main() -> None:
    door = socket.create_server(("127.0.0.1", 0))
    with open("port", "w") as file:
        file.write(str(door.getsockname()[1]))
    os.rename("port", "buffer.port")
    print(f"buffer pid {os.getpid()} listens", flush=True)
    shelves: list[queue.Queue[bytes]] = []
    while True:
        line, _ = door.accept()
        threading.Thread(target=serve, args=(line, shelves), daemon=True).start()


main()
