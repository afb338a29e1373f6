"""A judge for rent: so many questions in a window, then 429 until the next."""

import asyncio
import json
import time

QUOTA, WINDOW_S = 24, 48
state = {"since": 0.0, "used": 0}


async def answer(reader, writer) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    await reader.readexactly(length)
    now = time.monotonic()
    if now - state["since"] > WINDOW_S:
        state.update(since=now, used=0)
    state["used"] += 1
    if state["used"] > QUOTA:
        after = int(WINDOW_S - (now - state["since"])) + 1
        body, first = b"{}", f"HTTP/1.1 429 Too Many Requests\r\nRetry-After: {after}\r\n"
    else:
        await asyncio.sleep(0.8)
        body, first = json.dumps({"better": "ab"[state["used"] % 2]}).encode(), "HTTP/1.1 200 OK\r\n"
    writer.write(f"{first}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
