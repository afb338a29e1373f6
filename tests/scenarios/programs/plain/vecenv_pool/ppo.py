"""PPO on mazes: eight environments, an update each 64 steps, a table of figures after each, a new curriculum now and then."""

import math
import os
import random
import time

from vec_env import SubprocVecEnv

ENVS, STEPS, UPDATES = 8, 64, 400


class Policy:
    """A linear one."""

    def __init__(self) -> None:
        self.rng = random.Random(5)
        self.weights = [[self.rng.gauss(0, 0.1) for _ in range(11)] for _ in range(4)]

    def act(self, seen: list[float]) -> tuple[int, list[float]]:
        logits = [sum(w * s for w, s in zip(row, seen, strict=True)) for row in self.weights]
        top = max(logits)
        parts = [math.exp(logit - top) for logit in logits]
        shares = [part / sum(parts) for part in parts]
        return self.rng.choices(range(4), shares)[0], shares

    def update(self, batch: list[tuple[list[float], int, list[float], float]]) -> float:
        loss = 0.0
        for seen, action, shares, gain in batch:
            loss -= gain * math.log(max(1e-8, shares[action])) / len(batch)
            for index in range(4):
                slope = (float(index == action) - shares[index]) * gain
                for k, value in enumerate(seen):
                    self.weights[index][k] += 2e-3 * slope * value
        return loss


def table(rows: dict[str, object]) -> None:
    width = max(map(len, rows)) + 16
    print("-" * width)
    for name, value in rows.items():
        print(f"| {name:<{width - 16}} | {value!s:<9} |")
    print("-" * width, flush=True)


def main() -> None:
    print(f"Using cpu device, main process {os.getpid()}", flush=True)
    envs, policy, began = SubprocVecEnv(ENVS), Policy(), time.time()
    seen = envs.reset()
    for update in range(1, UPDATES + 1):
        batch: list[tuple[list[float], int, list[float], float]] = []
        total, done = 0.0, 0
        for _ in range(STEPS):
            acts = [policy.act(one) for one in seen]
            results = envs.step([action for action, _ in acts])
            batch += [(one, act[0], act[1], result[1]) for one, act, result in zip(seen, acts, results, strict=True)]
            seen = [result[0] for result in results]
            total += sum(result[1] for result in results)
            done += sum(result[2] for result in results)
        loss, steps = policy.update(batch), update * STEPS * ENVS
        fps = int(steps / (time.time() - began))
        table({"rollout/ep_rew": f"{total / ENVS:.3f}", "rollout/episodes": done, "time/fps": fps,
               "time/iterations": update, "time/total_timesteps": steps, "train/loss": f"{loss:.5f}"})
        if update % 25 == 0:
            print(f"Curriculum: one environment in {ENVS} gets a hard level", flush=True)
            seen = envs.reset(hard=2)
    envs.close()


if __name__ == "__main__":
    main()
