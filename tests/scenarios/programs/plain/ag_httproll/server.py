"""Samples answers: four slots, a word each hundredth of a second."""

import asyncio
import random

from aiohttp import web

SLOTS = asyncio.Semaphore(4)
LIMIT = 60


def length_of(iteration: int, sample: int) -> int:
    if iteration == 14 and sample == 5:
        return 2800  # it thinks aloud
    return random.Random(iteration * 100 + sample).randint(10, 70)


async def generate(request: web.Request) -> web.Response:
    asked = await request.json()
    words = length_of(asked["iteration"], asked["sample"])
    await SLOTS.acquire()
    try:
        for _ in range(words):
            await asyncio.sleep(0.01)
    finally:
        SLOTS.release()
    return web.json_response({"words": words, "finish": "length" if words > LIMIT else "stop"})


async def main() -> None:
    app = web.Application()
    app.router.add_post("/generate", generate)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert runner.addresses
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
