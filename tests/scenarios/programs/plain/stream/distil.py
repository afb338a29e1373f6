"""Distillation: asks a teacher for answers, all prompts of a batch at a time, and learns from its words."""

import asyncio
import json
import os
import time

PORT = int(os.environ["TEACHER_PORT"])


async def ask(prompt: int, tokens: int) -> list[str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    writer.write(f"GET /generate?prompt={prompt}&max_tokens={tokens} HTTP/1.1\r\nHost: teacher\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    words = []
    while line := (await reader.readline()).strip() or await reader.readline():
        if b"[DONE]" in line:
            break
        if line.startswith(b"data:"):
            words.append(json.loads(line[5:])["token"])
    writer.close()
    return words


def learn(answers: list[list[str]]) -> float:
    loss = 0.0
    for answer in answers:
        loss += sum(len(word) for word in answer) / max(1, len(answer))
    time.sleep(0.3)
    return loss / len(answers)


async def main() -> None:
    for batch in range(40):
        tokens = 28 if batch % 20 == 19 else 8
        answers = await asyncio.gather(*(ask(batch * 8 + k, tokens) for k in range(8)))
        record = {"ts": round(time.time(), 2), "batch": batch, "tokens": sum(map(len, answers)), "loss": learn(list(answers))}
        print(json.dumps(record), flush=True)


asyncio.run(main())
