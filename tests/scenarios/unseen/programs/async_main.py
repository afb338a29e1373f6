"""An asyncio main with worker programs on pipes; logs JSON objects."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time

WORKERS = 3


def worker(index):
    """Read a task a line, answer with a line."""
    for line in sys.stdin:
        task = json.loads(line)
        if task["op"] == "quit":
            return
        value = 0.0
        for turn in range(3000):
            value += (turn * task["seed"]) % 7 / 7
        time.sleep(0.1)
        reply = {"index": index, "value": value / 3000}
        print(json.dumps(reply), flush=True)


async def ask(process, seed):
    """One task there and back."""
    process.stdin.write(json.dumps({"op": "sample", "seed": seed}).encode() + b"\n")
    await process.stdin.drain()
    line = await process.stdout.readline()
    if not line:
        raise ConnectionError("worker closed its pipe")
    return json.loads(line)["value"]


async def coordinate(folder, steps):
    """All workers at once, step by step."""
    argv = [sys.executable, __file__, "--folder", folder]
    processes = []
    for index in range(WORKERS):
        process = await asyncio.create_subprocess_exec(
            *argv, "--worker", str(index), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        processes.append(process)
    smooth = 0.5
    for step in range(1, steps + 1):
        began = time.time()
        values = await asyncio.gather(*(ask(process, step + place) for place, process in enumerate(processes)))
        mean = sum(values) / len(values)
        smooth = 0.9 * smooth + 0.1 * mean
        await asyncio.sleep(0.1)
        record = {"ts": round(time.time(), 3), "event": "train", "step": step, "loss": round(smooth, 4)}
        record["sec"] = round(time.time() - began, 3)
        print(json.dumps(record), flush=True)
    for process in processes:
        process.stdin.write(b'{"op": "quit"}\n')
        await process.stdin.drain()
        await process.wait()
    print(json.dumps({"ts": round(time.time(), 3), "event": "end", "status": "success"}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--worker", type=int)
    given = parser.parse_args()
    if given.worker is not None:
        worker(given.worker)
    else:
        asyncio.run(coordinate(given.folder, given.steps))


if __name__ == "__main__":
    main()
