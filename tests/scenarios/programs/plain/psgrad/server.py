"""Synchronous parameter server: a gradient from each worker, the mean, new weights for all."""

import argparse
import logging
import os
import socket

from frames import get, put

log = logging.getLogger("ps")


def gradient(link: socket.socket, seen: dict) -> dict:
    """The next gradient of this worker; what else it sends is kept."""
    while True:
        message = get(link)
        if message["kind"] == "grad":
            return message
        seen[message["worker"]] = message


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s", level=logging.INFO)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("ps.sock")
    listener.listen()
    log.info("listening on ps.sock, pid %d", os.getpid())
    links, seen = {}, {}
    while len(links) < args.workers:
        link, _ = listener.accept()
        hello = get(link)
        links[hello["worker"]] = link
        log.info("worker %d joined (pid %d)", hello["worker"], hello["pid"])
    weights = [0.0] * 16
    for step in range(1, args.steps + 1):
        for link in links.values():
            put(link, {"step": step, "weights": weights})
        grads = [gradient(links[n], seen) for n in sorted(links)]
        for i in range(len(weights)):
            weights[i] -= 0.1 * sum(g["grad"][i] for g in grads) / len(grads)
        loss = sum(g["loss"] for g in grads) / len(grads)
        log.info("step %d/%d loss %.4f", step, args.steps, loss)
    for link in links.values():
        put(link, None)


if __name__ == "__main__":
    main()
