"""Jobs go from the search to whoever is idle. At most MAX_LEASED are out at a time; a lease that is not answered ends after VISIBLE_S."""

import collections
import os
import queue
import socket
import threading
import time
from pathlib import Path

from lines import Peer

MAX_LEASED = 3
VISIBLE_S = 45.0


def say(text: str) -> None:
    print(f"[broker {time.strftime('%H:%M:%S')}] {text}", flush=True)


def listen(peer: Peer, inbox: "queue.Queue") -> None:
    try:
        while True:
            inbox.put((peer, peer.receive()))
    except (ConnectionError, OSError):
        inbox.put((peer, {"kind": "left"}))


def accept(listener: socket.socket, inbox: "queue.Queue") -> None:
    while True:
        link, _ = listener.accept()
        threading.Thread(target=listen, args=(Peer(link), inbox), daemon=True).start()


class Broker:
    def __init__(self) -> None:
        self.waiting, self.idle = collections.deque(), collections.deque()
        self.leases, self.leased, self.search = {}, 0, None

    def handle(self, peer: Peer, message: dict) -> None:
        kind = message["kind"]
        if kind == "submit":
            self.search = peer
            self.waiting.append(message["job"])
        elif kind == "ready":
            self.idle.append(peer)
        elif kind == "done" and message["job"]["id"] in self.leases:
            self.leases.pop(message["job"]["id"])
            self.leased -= 1
            self.search.send(**message)
        elif kind == "refuse":
            say(f"job {message['job']['id']} refused ({message['why']}), queued again")
            self.leases.pop(message["job"]["id"])
            self.leased -= 1
            self.waiting.append(message["job"] | {"seed": message["job"]["seed"] + 1})
        elif kind == "left" and peer in self.idle:
            self.idle.remove(peer)

    def lend(self) -> None:
        for job, ends in [lease for lease in self.leases.values() if lease[1] < time.time()]:
            say(f"lease of job {job['id']} has ended, queued again")
            self.leases.pop(job["id"])
            self.leased -= 1
            self.waiting.append(job)
        while self.waiting and self.idle and self.leased < MAX_LEASED:
            job = self.waiting.popleft()
            self.leases[job["id"]] = (job, time.time() + VISIBLE_S)
            self.leased += 1
            self.idle.popleft().send(job=job)


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    Path("broker.port").write_text(str(listener.getsockname()[1]))
    say(f"pid {os.getpid()}, at most {MAX_LEASED} leases of {VISIBLE_S:.0f} s")
    inbox: queue.Queue = queue.Queue()
    threading.Thread(target=accept, args=(listener, inbox), daemon=True).start()
    broker = Broker()
    while True:
        try:
            broker.handle(*inbox.get(timeout=1.0))
        except queue.Empty:
            pass
        broker.lend()


if __name__ == "__main__":
    main()
