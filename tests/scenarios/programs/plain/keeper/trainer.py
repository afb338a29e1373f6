"""Synchronous: the weights go to all workers, an episode of each comes back, an update. Workers may come back after they have left."""

import argparse
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from wire import PORT_FILE, receive, send


class Workers:
    """Connections by number."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.links: dict[int, socket.socket] = {}
        self.listener = socket.create_server(("127.0.0.1", 0))
        Path(PORT_FILE).write_text(str(self.listener.getsockname()[1]))
        while len(self.links) < count:
            self.accept()

    def accept(self) -> int:
        link, _ = self.listener.accept()
        number = int(receive(link)["worker"])
        self.links[number] = link
        print(f"worker {number} has registered ({len(self.links)} of {self.count})", flush=True)
        return number

    def episode(self, number: int, weights: Mapping[str, object]) -> list[float]:
        """Of one worker, or of the one that comes in its place."""
        while True:
            try:
                return list(receive(self.links[number])["rewards"])
            except ConnectionError as problem:
                print(f"lost worker {number}: {problem}; waiting for it to come back", flush=True)
                del self.links[number]
                while self.accept() != number:
                    continue
                send(self.links[number], weights)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, required=True)
    given = parser.parse_args()
    print(f"pid {os.getpid()}, waiting for {given.workers} workers", flush=True)
    workers, bias = Workers(given.workers), 0.0
    for update in range(1, 201):
        weights = {"version": update, "bias": bias}
        for number in range(given.workers):
            send(workers.links[number], weights)
        episodes = [workers.episode(number, weights) for number in range(given.workers)]
        mean = sum(map(sum, episodes)) / sum(map(len, episodes))
        bias += 0.05 * (1 - mean)
        print(f"update {update}/200 reward {mean:.4f} bias {bias:.4f}", flush=True)


if __name__ == "__main__":
    main()
