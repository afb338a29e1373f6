"""A robot arm, simulated at the pace of a real one: ten observations a second, the policy answers each."""

import math
import multiprocessing as mp
import time
from multiprocessing.connection import Connection


def arm(link: Connection) -> None:
    """The other side of the cable."""
    while True:
        ticks = link.recv()
        angle, began = 0.0, time.monotonic()
        for tick in range(ticks):
            time.sleep(max(0.0, began + tick * 0.1 - time.monotonic()))
            link.send((tick, angle))
            angle += link.recv()
        link.send(None)


def episode(link: Connection, ticks: int, gain: float) -> float:
    link.send(ticks)
    error = 0.0
    while (seen := link.recv()) is not None:
        tick, angle = seen
        wanted = math.sin(tick / 20)
        link.send(gain * (wanted - angle))
        error += abs(wanted - angle)
    return error / ticks


def main() -> None:
    near, far = mp.Pipe()
    mp.Process(target=arm, args=(far,), daemon=True).start()
    gain = 0.1
    for number in range(1, 9):
        length = 450 if number == 5 else 20
        print(f"episode {number} starts: {length} ticks")
        error = episode(near, length, gain)
        gain = min(0.9, gain + 0.05)
        print(f"episode {number} mean error {error:.4f} gain {gain:.2f}")


main()
