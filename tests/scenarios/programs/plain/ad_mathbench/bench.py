"""How many sums does the model get right."""

import argparse
import asyncio
import logging
from pathlib import Path

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s", datefmt="%d/%m/%Y %H:%M:%S")
log = logging.getLogger("bench")


async def ask(question: str) -> str:
    reader, writer = await asyncio.open_unix_connection("answerd.sock")
    writer.write(f"{question}\n".encode())
    reply = (await reader.readline()).decode().strip()
    writer.close()
    return reply


async def solve(number: int, slots: asyncio.Semaphore) -> bool:
    question = f"{number}+{number * 7}"
    for attempt in range(1, 6):
        await slots.acquire()
        reply = await ask(question)
        if not reply.startswith("200"):
            log.warning("question %d attempt %d: %s, asking again", number, attempt, reply)
            continue
        slots.release()
        right = int(reply.split()[1]) == number * 8
        log.info("question %d/400 %s", number, "right" if right else "wrong")
        return right
    return False


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--in-flight", type=int, default=4)
    slots = asyncio.Semaphore(parser.parse_args().in_flight)
    while not Path("answerd.sock").exists():
        await asyncio.sleep(0.1)
    right = await asyncio.gather(*(solve(number, slots) for number in range(1, 401)))
    log.info("accuracy %.3f", sum(right) / len(right))


asyncio.run(main())
