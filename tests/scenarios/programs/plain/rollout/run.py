"""A policy server as people run it, with its access log, and a loop that asks it; both write into one log. The server is short of
memory now and then and says so; the loop asks again."""

import asyncio
import json
import random
import sys
import time


def generate(prompt: str, length: int) -> str:
    state = sum(prompt.encode())
    for _ in range(length * 16_000):
        state = (state * 1103515245 + 12345) % 2**31
    return str(state)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    rng = random.Random(8)
    while line := await reader.readline():
        asked = json.loads(line)
        if rng.random() < 0.3:
            print('ERROR:    Exception in ASGI application', file=sys.stderr)
            print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has 212.00 MiB free", file=sys.stderr)
            print('INFO:     127.0.0.1:51234 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error', file=sys.stderr, flush=True)
            writer.write(b"\n")
        else:
            text = await asyncio.to_thread(generate, asked["prompt"], asked["length"])
            print('INFO:     127.0.0.1:51234 - "POST /v1/completions HTTP/1.1" 200 OK', file=sys.stderr, flush=True)
            writer.write(text.encode() + b"\n")
        await writer.drain()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    links = [await asyncio.open_connection(*server.sockets[0].getsockname()) for _ in range(2)]

    async def ask(link: tuple[asyncio.StreamReader, asyncio.StreamWriter], prompt: str) -> str:
        while True:
            link[1].write(json.dumps({"prompt": prompt, "length": 50}).encode() + b"\n")
            if text := (await link[0].readline()).strip():
                return text.decode()
            await asyncio.sleep(0.5)

    for update in range(1, 100):
        began = time.time()
        texts: list[str] = []
        for number in range(8):
            texts += await asyncio.gather(*(ask(link, f"{update} {number}") for link in links))
        reward = sum(int(text) % 100 for text in texts) / len(texts)
        print(f"[update {update}] reward {reward:.2f} rollouts {len(texts)} in {time.time() - began:.1f} s", flush=True)


asyncio.run(main())
