"""A judge of essays behind a quota: HTTP, a short answer each."""

import asyncio
import random


async def serve(reader, writer):
    number = 0
    rng = random.Random(5)
    while line := await reader.readline():
        while (await reader.readline()).strip():
            pass
        number += 1
        await asyncio.sleep(0.15)
        body = f"{rng.random():.3f}"
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n"
        if number <= 5:
            head += "X-Ratelimit-Limit: 30\r\n"
        writer.write(f"{head}\r\n{body}".encode())
        if not line:
            break
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
