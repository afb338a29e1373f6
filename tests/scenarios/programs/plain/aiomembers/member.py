"""A member of a gossip group, an event loop each: it shares with the next by a plain socket, and reports to the coordinator."""

import asyncio
import os
import socket
import sys

NAME, WORLD, COORDINATOR = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


async def neighbours() -> tuple[socket.socket, socket.socket]:
    path = f"gossip.{NAME}"
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    server.setblocking(False)
    loop = asyncio.get_running_loop()
    out = socket.socket(socket.AF_UNIX)
    out.setblocking(False)
    while True:
        try:
            await loop.sock_connect(out, f"gossip.{(NAME + 1) % WORLD}")
            break
        except (FileNotFoundError, ConnectionRefusedError):
            await asyncio.sleep(0.1)
    inward, _ = await loop.sock_accept(server)
    return out, inward


def exact(link: socket.socket, count: int) -> bytes:
    """A message from the left; small ones come at once, so it is not worth a task."""
    link.setblocking(True)
    data = b""
    while len(data) < count:
        data += link.recv(count - len(data))
    return data


async def main() -> None:
    out, inward = await neighbours()
    while not os.path.exists(COORDINATOR):
        await asyncio.sleep(0.1)
    reader, writer = await asyncio.open_unix_connection(COORDINATOR)
    writer.write(f"{NAME} {os.getpid()}\n".encode())
    value, turn = float(NAME), 0
    while await reader.readline():
        turn += 1
        await asyncio.sleep(0.15)
        message = f"{value:.8f}".rjust(16)
        out.setblocking(True)
        out.sendall(message.encode())
        value = (value + float(exact(inward, 16))) / 2
        writer.write(f"{value}\n".encode())


asyncio.run(main())
