"""Starts the members and calls the rounds."""

import asyncio
import sys

WORLD = 4
members: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
complete = asyncio.Event()


async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    name, pid = map(int, (await reader.readline()).split())
    print(f"member {name} joined, pid {pid}", flush=True)
    members[name] = reader, writer
    if len(members) == WORLD:
        complete.set()


async def main() -> None:
    await asyncio.start_unix_server(joined, "coordinator.sock")
    for name in range(WORLD):
        await asyncio.create_subprocess_exec(sys.executable, "member.py", str(name), str(WORLD), "coordinator.sock")
    await complete.wait()
    for turn in range(1, 500):
        for _, writer in members.values():
            writer.write(b"go\n")
        values = await asyncio.gather(*(reader.readline() for reader, _ in members.values()))
        print(f"turn {turn}: spread {max(map(float, values)) - min(map(float, values)):.6f}", flush=True)


asyncio.run(main())
