"""A language model behind a long line: streams its answer, a token at a time, as server-sent events."""

import argparse
import asyncio

parser = argparse.ArgumentParser()
parser.add_argument("--every", type=float, default=0.05, help="seconds between two tokens of a long answer")
parser.add_argument("--silent-after", type=int, default=10**9, help="tokens of a long answer")
given = parser.parse_args()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    request = (await reader.readuntil(b"\r\n\r\n")).split()[1]
    count = int(request.rsplit(b"=", 1)[1])
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    for k in range(count):
        if k >= given.silent_after:
            await asyncio.Event().wait()
        writer.write(f'data: {{"token": "w{k}"}}\n\n'.encode())
        await writer.drain()
        await asyncio.sleep(given.every if count > 10 else 0.02)
    writer.write(b"data: [DONE]\n\n")
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
