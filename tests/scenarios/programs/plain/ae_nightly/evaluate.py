"""Recall of the factors, by the slow and exact way, with bootstrap samples of each group of users."""

import random
import time

import numpy as np

GROUPS, SAMPLES = 6, 600
random.seed(1)
with np.load("factors.npz") as file:
    users, items = file["left"].tolist(), file["right"].T.tolist()
for group in range(GROUPS):
    members = users[group::GROUPS]
    recalls = []
    for _ in range(SAMPLES):
        hits = 0
        for user in random.choices(members, k=150):
            scores = [sum(a * b for a, b in zip(user, item)) for item in items[: 400 - 60 * group]]
            hits += max(range(len(scores)), key=scores.__getitem__) % GROUPS == group
        recalls.append(hits / 150)
    recalls.sort()
    low, high = recalls[SAMPLES // 40], recalls[-SAMPLES // 40]
    print(f"{time.strftime('%F %T')} eval: group {group + 1}/{GROUPS} recall@1 {low:.4f} .. {high:.4f}", flush=True)
