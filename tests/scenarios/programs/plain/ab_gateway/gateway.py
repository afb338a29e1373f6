"""Generates for actors, takes weights from the trainer; one event loop."""

import asyncio
import json
import os
import sys
import urllib.request

PORT = int(sys.argv[1])
version = 0
waiting = 0
served = 0


async def generate(body: dict[str, int]) -> dict[str, object]:
    global waiting, served
    waiting += 1
    await asyncio.sleep(0.25)
    waiting -= 1
    served += 1
    return {"version": version, "tokens": [(body["seed"] * 31 + index * version) % 97 for index in range(16)]}


async def load(body: dict[str, int]) -> dict[str, object]:
    """New weights; the size of the queue goes into the answer as the dashboard has it."""
    global version
    version = body["version"]
    if version % 16 == 0:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/stats", b"{}") as answer:
            return {"version": version, "stats": json.loads(answer.read())}
    return {"version": version}


async def stats(_: dict[str, int]) -> dict[str, object]:
    return {"waiting": waiting, "served": served}


ROUTES = {"/generate": generate, "/load": load, "/stats": stats}


async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        length = next(int(line.split(":")[1]) for line in head if line.lower().startswith("content-length"))
        answer = await ROUTES[head[0].split()[1]](json.loads(await reader.readexactly(length)))
        data = json.dumps(answer).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
        await writer.drain()
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(handle, "127.0.0.1", PORT)
    print(f"gateway: pid {os.getpid()}, port {PORT}", flush=True)
    await server.serve_forever()


asyncio.run(main())
