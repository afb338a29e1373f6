"""作文评分：受配额限制的接口，每个窗口只能请求若干次。"""

import asyncio
import sys
import time

WINDOW_S = 45
TOTAL = 96


class Quota:
    """So many calls a window; who comes too late waits for the next."""

    def __init__(self):
        self.left = self.size = 30
        self.headers = {}
        self.changed = asyncio.Condition()
        self.filler = asyncio.create_task(self.fill())

    async def fill(self):
        while True:
            await asyncio.sleep(WINDOW_S)
            self.size = int(self.headers.get("x-ratelimit-limit", self.size))
            async with self.changed:
                self.left = self.size
                self.changed.notify_all()

    async def take(self):
        async with self.changed:
            await self.changed.wait_for(lambda: self.left > 0)
            self.left -= 1


class Board:
    def __init__(self):
        self.done, self.began = 0, time.monotonic()

    def write(self, line=""):
        past = int(time.monotonic() - self.began)
        part = "█" * (self.done * 30 // TOTAL)
        sys.stdout.write((f"\r{line}\n" if line else "") + f"\r评分中 |{part:<30}| {self.done}/{TOTAL} 已用 {past // 60:02d}:{past % 60:02d}")
        sys.stdout.flush()

    async def tick(self):
        while self.done < TOTAL:
            self.write()
            await asyncio.sleep(1)


async def worker(queue, quota, board, port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while not queue.empty():
        essay = queue.get_nowait()
        await quota.take()
        writer.write(f"GET /essay/{essay} HTTP/1.1\r\nHost: judge\r\n\r\n".encode())
        await reader.readline()
        headers = {}
        while line := (await reader.readline()).decode().strip():
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        quota.headers = headers
        score = float(await reader.readexactly(int(headers["content-length"])))
        board.done += 1
        board.write(f"作文 {essay} 得分 {score:.3f}")
    writer.close()


async def main():
    queue = asyncio.Queue()
    for essay in range(TOTAL):
        queue.put_nowait(essay)
    quota, board = Quota(), Board()
    drawing = asyncio.create_task(board.tick())
    await asyncio.gather(*(worker(queue, quota, board, int(sys.argv[1])) for _ in range(4)))
    await drawing
    print("\n全部作文评分完毕")


asyncio.run(main())
