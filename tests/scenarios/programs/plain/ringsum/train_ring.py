"""Data parallel with a ring of sockets: each hop adds its part, a second round carries the sum around."""

import os
import random
import socket
import struct
import sys
import time

RANK, WORLD, PORT = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(os.environ["RING_PORT"])
SIZE, STEPS, SAVE_EVERY = 64, 500, 40
CORPUS = [("a small caf\xe9 by the sea ", "latin-1"), ("der M\xfcller mahlt ", "utf-8"), ("la vie est belle ", "utf-8")]


class Ring:
    def __init__(self) -> None:
        listener = socket.create_server(("127.0.0.1", PORT + RANK))
        while True:
            try:
                self.next = socket.create_connection(("127.0.0.1", PORT + (RANK + 1) % WORLD))
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        self.before, _ = listener.accept()

    def send(self, values: list[float]) -> None:
        self.next.sendall(struct.pack(f"{SIZE}d", *values))

    def receive(self) -> list[float]:
        data = b""
        while len(data) < 8 * SIZE:
            part = self.before.recv(8 * SIZE - len(data))
            if not part:
                raise ConnectionError("ring is broken")
            data += part
        return list(struct.unpack(f"{SIZE}d", data))

    def sum(self, values: list[float]) -> list[float]:
        if RANK == 0:
            self.send(values)
            total = self.receive()
            self.send(total)
            self.receive()
            return total
        self.send([a + b for a, b in zip(self.receive(), values)])
        total = self.receive()
        self.send(total)
        return total


def save(step: int, weights: list[float]) -> None:
    """The last rank keeps the moments of all, on the slow disk."""
    moments = 8 if RANK < WORLD - 1 else 440
    with open(f"ckpt-{step}-{RANK}.bin", "wb") as out:
        for _ in range(moments):
            out.write(struct.pack(f"{SIZE}d", *weights) * 16)
            out.flush()
            os.fsync(out.fileno())
            time.sleep(0.1 if moments > 8 else 0.0)


def main() -> None:
    ring, rng = Ring(), random.Random(RANK)
    weights = [rng.gauss(0, 1) for _ in range(SIZE)]
    weights = [value / WORLD for value in ring.sum(weights)]
    for step in range(1, STEPS + 1):
        time.sleep(rng.uniform(0.1, 0.3))
        text, encoding = CORPUS[(step // 24) % 3 if RANK == 3 else 2]
        print(f"sample of step {step}:", flush=True) if RANK else None
        if RANK:
            sys.stdout.buffer.write((text * 90).encode("utf-8" if RANK != 3 or step < 20 else encoding) + b"\n")
            sys.stdout.buffer.flush()
        grad = ring.sum([0.2 * w + rng.gauss(0, 0.01) for w in weights])
        weights = [w - g / WORLD for w, g in zip(weights, grad)]
        if RANK == 0:
            print(f"iter {step:4d}/{STEPS} | |g| {sum(g * g for g in grad) ** 0.5:.5f} | lr 1.0e-01", flush=True)
        if step % SAVE_EVERY == 0:
            save(step, weights)


if __name__ == "__main__":
    main()
