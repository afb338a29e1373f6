"""A pole on a cart, without any package."""

import math
import random


class Pole:
    """Falls at 12 degrees, and begins anew."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.state = [0.0] * 4
        self.begin()

    def begin(self) -> None:
        self.state = [self.rng.uniform(-0.05, 0.05) for _ in range(4)]

    def seen(self) -> list[float]:
        return list(self.state)

    def step(self, action: int) -> tuple[list[float], float]:
        x, speed, angle, turn = self.state
        push = 10.0 if action else -10.0
        part = (push + 0.05 * turn**2 * math.sin(angle)) / 1.1
        swing = (9.8 * math.sin(angle) - math.cos(angle) * part) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        moved = part - 0.05 * swing * math.cos(angle) / 1.1
        self.state = [x + 0.02 * speed, speed + 0.02 * moved, angle + 0.02 * turn, turn + 0.02 * swing]
        if abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12):
            self.begin()
            return self.seen(), 0.0
        return self.seen(), 1.0
