"""REINFORCE on a chain of rooms, until the running reward says that it is solved, or the episodes are over."""

import argparse
import math
import random
import time

ROOMS = 12


def episode(rng: random.Random, theta: list[float], learn: float) -> tuple[float, int]:
    """Right leads on, left leads back, and the last room ends it."""
    room, path = 0, []
    for step in range(1, 201):
        share = 1 / (1 + math.exp(-theta[room]))
        right = rng.random() < share
        path.append((room, right, share))
        room = min(ROOMS, room + 1) if right else max(0, room - 1)
        if room == ROOMS:
            break
    reward = 100.0 - step / 2
    for place, right, share in path:
        theta[place] += learn * (reward - 50) / 100 * (float(right) - share)
    return reward, step


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--threshold", type=float, default=80.0)
    given = parser.parse_args()
    rng, theta, running = random.Random(543), [0.0] * ROOMS, 10.0
    for number in range(1, given.episodes + 1):
        reward, steps = episode(rng, theta, 0.02)
        running = 0.05 * reward + 0.95 * running
        time.sleep(0.03)
        if number % given.log_interval == 0:
            print(f"Episode {number}\tLast reward: {reward:.2f}\tAverage reward: {running:.2f}", flush=True)
        if running > given.threshold:
            print(f"Solved! Running reward is now {running:.2f} and the last episode runs to {steps} time steps!", flush=True)
            break


if __name__ == "__main__":
    main()
