"""Hands tasks to workers; what they bring goes through a queue to the one task that applies it."""

import asyncio
import math
import os


class Coordinator:
    """A round is over when all its gradients were applied."""

    def __init__(self) -> None:
        self.tasks: asyncio.Queue[int] = asyncio.Queue()
        self.gradients: asyncio.Queue[float] = asyncio.Queue()
        self.weight = 1.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            task = await self.tasks.get()
            writer.write(f"{task}\n".encode())
            _, value = (await reader.readline()).split()
            await self.gradients.put(float(value))

    async def apply(self) -> None:
        while True:
            gradient = await self.gradients.get()
            self.weight -= 0.1 * round(gradient * 1e6) / 1e6
            self.gradients.task_done()

    async def rounds(self) -> None:
        for number in range(60):
            for task in range(9):
                await self.tasks.put(number * 9 + task)
            while not self.tasks.empty():
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.3)
            await self.gradients.join()
            print(f"round {number} weight {self.weight:.4f} finite {math.isfinite(self.weight)}", flush=True)


async def main() -> None:
    coordinator = Coordinator()
    print(f"coordinator pid {os.getpid()}", flush=True)
    server = await asyncio.start_unix_server(coordinator.serve, "work.sock")
    applying = asyncio.create_task(coordinator.apply())
    async with server:
        await coordinator.rounds()
    applying.cancel()


asyncio.run(main())
