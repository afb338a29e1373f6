"""Answers sums; now and then it is too busy."""

import asyncio

seen = 0


async def answer(reader, writer) -> None:
    global seen
    seen += 1
    question = (await reader.readline()).decode().strip()
    await asyncio.sleep(0.5)
    reply = "503 busy" if seen % 13 == 0 else f"200 {sum(map(int, question.split('+')))}"
    writer.write(f"{reply}\n".encode())
    await writer.drain()
    writer.close()


async def main() -> None:
    server = await asyncio.start_unix_server(answer, "answerd.sock")
    await server.serve_forever()


asyncio.run(main())
