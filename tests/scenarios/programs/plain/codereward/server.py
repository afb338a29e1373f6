"""Reward server for code: runs the answer with its tests in a fresh interpreter, says how many passed."""

import asyncio
import sys

from aiohttp import web

slots = asyncio.Semaphore(2)


async def score(request: web.Request) -> web.Response:
    job = await request.json()
    async with slots:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", job["program"], stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        out, _ = await process.communicate()
    passed = out.count(b"ok")
    return web.json_response({"reward": passed / job["tests"], "code": process.returncode})


async def health(_: web.Request) -> web.Response:
    return web.Response(text="up")


app = web.Application()
app.add_routes([web.post("/score", score), web.get("/health", health)])
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
