"""Three rollout workers ask a scorer for rewards over a Unix socket; the learner takes what they bring, six at a time."""

import json
import multiprocessing as mp
import os
import queue
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ADDRESS = "scorer.sock"


def say(who: str, text: str) -> None:
    print(f"[{who}] {text}", flush=True)


class Scorer:
    """Each connection has a thread that hands texts to the one that scores."""

    def __init__(self) -> None:
        self.texts: queue.Queue[tuple[str, queue.Queue[float]]] = queue.Queue(maxsize=8)
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="score")
        self.pool.submit(self.score)

    def score(self) -> None:
        while True:
            text, answer = self.texts.get()
            words = text.split()
            time.sleep(0.03)
            answer.put(sum(len(word) for word in words) / len(words) - 3.5)

    def talk(self, peer: socket.socket) -> None:
        with peer.makefile("rwb") as stream:
            answer: queue.Queue[float] = queue.Queue()
            for line in stream:
                self.texts.put((json.loads(line), answer))
                stream.write(json.dumps(answer.get()).encode() + b"\n")
                stream.flush()


def serve() -> None:
    say("scorer", f"pid {os.getpid()} listens at {ADDRESS}")
    scorer = Scorer()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(ADDRESS)
        door.listen()
        while True:
            peer, _ = door.accept()
            threading.Thread(target=scorer.talk, args=(peer,), daemon=True).start()


def roll(number: int, out: "mp.Queue[tuple[int, float]]", stop_early: int) -> None:
    say(f"rollout {number}", f"pid {os.getpid()}")
    rng = random.Random(number)
    with socket.socket(socket.AF_UNIX) as line:
        while line.connect_ex(ADDRESS):
            time.sleep(0.1)
        with line.makefile("rwb") as stream:
            for episode in range(1000):
                time.sleep(0.2 + rng.random() / 20)
                length = 0 if episode == stop_early else rng.randint(2, 30)
                text = " ".join(rng.choice(("ab", "abc", "abcde", "abcdefg")) for _ in range(length))
                stream.write(json.dumps(text).encode() + b"\n")
                stream.flush()
                out.put((number, float(json.loads(stream.readline()))))


def main() -> None:
    out: mp.Queue[tuple[int, float]] = mp.Queue()
    mp.Process(target=serve, name="scorer", daemon=True).start()
    for number in range(3):
        mp.Process(target=roll, args=(number, out, 55 if number == 1 else -1), daemon=True).start()
    say("learner", f"pid {os.getpid()}")
    baseline = 0.0
    for update in range(1, 300):
        rewards = [out.get()[1] for _ in range(6)]
        baseline = 0.9 * baseline + 0.1 * sum(rewards) / 6
        say("learner", f"update {update} reward {sum(rewards) / 6:+.3f} baseline {baseline:+.3f}")


if __name__ == "__main__":
    main()
