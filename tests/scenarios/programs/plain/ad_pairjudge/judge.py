"""Which of two answers is better: asks a judge for rent, four questions at a time."""

import asyncio
import json
import os
import time

PORT = int(os.environ["JUDGE_PORT"])


def say(**fields: object) -> None:
    print(json.dumps({"ts": round(time.time(), 3), **fields}), flush=True)


async def ask(pair: int) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    body = json.dumps({"pair": pair, "a": "x" * 200, "b": "y" * 200}).encode()
    writer.write(f"POST /v1/judge HTTP/1.1\r\nHost: judge\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    head, _, text = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), dict(line.split(": ", 1) for line in lines[1:]), text


async def judge(pair: int, slots: asyncio.Semaphore) -> str:
    async with slots:
        while True:
            status, headers, text = await ask(pair)
            if status == 200:
                better = json.loads(text)["better"]
                say(event="judged", pair=pair, better=better)
                return better
            after = int(headers["Retry-After"])
            say(event="rate_limited", pair=pair, status=status, retry_after_s=after)
            await asyncio.sleep(after)


async def main() -> None:
    slots = asyncio.Semaphore(4)
    better = await asyncio.gather(*(judge(pair, slots) for pair in range(60)))
    say(event="report", win_rate=better.count("a") / len(better))


asyncio.run(main())
