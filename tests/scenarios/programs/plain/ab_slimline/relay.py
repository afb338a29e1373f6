"""Carries bytes from one port to another, 20 kB a second in each connection."""

import asyncio
import os
import sys
import time

RATE = 20_000
PIECE = 2_000


async def carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    free_at = time.monotonic()
    while piece := await source.read(PIECE):
        target.write(piece)
        await target.drain()
        free_at = max(free_at, time.monotonic() - 0.2) + len(piece) / RATE
        await asyncio.sleep(max(0.0, free_at - time.monotonic()))
    target.close()


async def main() -> None:
    async def door(to: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", to)
        await asyncio.gather(carry(reader, back), carry(there, writer))

    servers = []
    for pair in sys.argv[1:]:
        own, to = map(int, pair.split(":"))
        servers.append(await asyncio.start_server(lambda reader, writer, to=to: door(to, reader, writer), "127.0.0.1", own, limit=8192))
    print(f"relay: pid {os.getpid()}, {' '.join(sys.argv[1:])}", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


asyncio.run(main())
