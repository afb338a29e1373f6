"""A learner, three actors that fill a bounded queue, and an evaluator that is asked now and then how good the policy is."""

import multiprocessing as mp
import os
import random
import time

UPDATES, EVAL_EVERY, REANALYSE_EVERY = 250, 25, 10**9
QUEUE = 64
BUFFER = 3000


def say(who: str, text: str) -> None:
    print(f"| {who:<9} | {text}", flush=True)


def episode(rng: random.Random, skill: float, limit: int) -> list[float]:
    """Rewards until it falls; None of them where it is stopped before."""
    rewards = []
    while len(rewards) < limit:
        rewards.append(1.0)
        if rng.random() > skill:
            return rewards
    return []


def act(number: int, skill, out) -> None:
    say(f"actor {number}", f"pid {os.getpid()}")
    rng = random.Random(number)
    while True:
        time.sleep(rng.uniform(0.05, 0.15))
        out.put((number, episode(rng, skill.value, 400)))


def evaluate(skill, asked, answers) -> None:
    say("evaluator", f"pid {os.getpid()}")
    rng = random.Random(77)
    while (update := asked.get()) is not None:
        lengths = []
        for _ in range(5):
            time.sleep(0.1)
            if rewards := episode(rng, skill.value, LIMIT):
                lengths.append(len(rewards))
        answers.put((update, sum(lengths) / len(lengths)))


LIMIT = 100_000


def reanalyse(kept: list, rng: random.Random) -> float:
    """Targets of all that is kept, with the policy of now."""
    total = 0.0
    for _ in range(BUFFER):
        rewards = rng.choice(kept)
        value = 0.0
        for reward in reversed(rewards):
            value = reward + 0.99 * value
        total += value
        time.sleep(0.015)
    return total / BUFFER


def main() -> None:
    skill = mp.Value("d", 0.8)
    out, asked, answers = mp.Queue(QUEUE), mp.Queue(), mp.Queue()
    say("learner", f"pid {os.getpid()}")
    helpers = [mp.Process(target=act, args=(n, skill, out), name=f"actor-{n}", daemon=True) for n in range(3)]
    helpers.append(mp.Process(target=evaluate, args=(skill, asked, answers), name="evaluator", daemon=True))
    for helper in helpers:
        helper.start()
    kept, rng = [[1.0]], random.Random(5)
    for update in range(1, UPDATES + 1):
        batch = [out.get()[1] for _ in range(8)]
        kept = (kept + batch)[-2000:]
        length = sum(map(len, batch)) / len(batch)
        skill.value += 0.02 * (1 - skill.value)
        say("learner", f"update {update:>4}/{UPDATES} | length {length:7.1f} | skill {skill.value:.4f}")
        if update % REANALYSE_EVERY == 0:
            say("learner", "reanalysing the replay")
            say("learner", f"mean target {reanalyse(kept, rng):.3f}")
        if update % EVAL_EVERY == 0:
            asked.put(update)
            say("learner", "evaluation of update {}: length {:.1f}".format(*answers.get()))
    asked.put(None)


if __name__ == "__main__":
    main()
