"""Policy of letters, rewarded over HTTP."""

import json
import time
import urllib.request
from pathlib import Path

import torch

torch.manual_seed(1)
while not Path("reward.port").exists() or not (port := Path("reward.port").read_text()):
    time.sleep(0.1)
logits = torch.zeros(26, requires_grad=True)
optimizer = torch.optim.Adam([logits], lr=0.1)
for step in range(1, 201):
    policy = torch.distributions.Categorical(logits=logits)
    taken = policy.sample((8, 40 + 12 * step))
    rewards = []
    for row in taken:
        text = "".join(chr(97 + letter) for letter in row)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/score", json.dumps({"text": text}).encode()) as reply:
            rewards.append(float(json.load(reply)))
    gain = torch.tensor(rewards)
    loss = -(policy.log_prob(taken).mean(-1) * (gain - gain.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(
        {"step": step, "reward": round(gain.mean().item(), 4), "length": taken.shape[1], "kl": round(loss.item(), 5)}, flush=True
    )
    time.sleep(0.25)
