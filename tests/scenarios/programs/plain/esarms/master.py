"""Evolution strategies with three robot arms: a program for each arm connects, gets perturbations to try, and tells what they were
worth. A generation is over when all perturbations have been tried."""

import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path

ARMS, TRIALS, SIZE = 3, 12, 16


def say(text: str) -> None:
    print(f"{time.strftime('%b %d %H:%M:%S')} master[{os.getpid()}] {text}", flush=True)


class Master:
    """Trials are handed out one by one to whoever is free."""

    def __init__(self) -> None:
        self.trials: asyncio.Queue[tuple[int, list[float]]] = asyncio.Queue()
        self.results: asyncio.Queue[tuple[int, float]] = asyncio.Queue()

    async def arm(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = json.loads(await reader.readline())["arm"]
        say(f"arm {name} is there")
        while True:
            number, weights = await self.trials.get()
            writer.write(json.dumps({"trial": number, "weights": weights}).encode() + b"\n")
            await writer.drain()
            answer = json.loads(await reader.readline())
            await self.results.put((answer["trial"], answer["return"]))

    async def generations(self) -> None:
        rng, weights = random.Random(7), [0.0] * SIZE
        for generation in range(1, 101):
            noise = [[rng.gauss(0, 1) for _ in range(SIZE)] for _ in range(TRIALS)]
            for number, one in enumerate(noise):
                await self.trials.put((number, [weight + 0.1 * value for weight, value in zip(weights, one, strict=True)]))
            returns = dict([await self.results.get() for _ in range(TRIALS)])
            mean = sum(returns.values()) / TRIALS
            for number, one in enumerate(noise):
                for index, value in enumerate(one):
                    weights[index] += 0.05 * (returns[number] - mean) * value
            say(f"generation {generation:3d} return {mean:8.4f} best {max(returns.values()):8.4f}")
            if generation % 10 == 0:
                Path(f"theta_{generation}.json").write_text(json.dumps(weights))


async def main() -> None:
    master = Master()
    server = await asyncio.start_server(master.arm, "127.0.0.1", 0)
    port = str(server.sockets[0].getsockname()[1])
    say(f"port {port}")
    arms = [await asyncio.create_subprocess_exec(sys.executable, "-u", "arm.py", port, str(arm)) for arm in range(ARMS)]
    try:
        await master.generations()
    finally:
        for arm in arms:
            arm.terminate()


if __name__ == "__main__":
    asyncio.run(main())
