"""Ignite: captions of little pictures; a judge beside it scores samples now and then."""

import json
import os
import time
import urllib.request
from pathlib import Path

import torch
from ignite.engine import Engine, Events
from ignite.handlers import EarlyStopping
from ignite.metrics import RunningAverage

LENGTH = 60
CAPTIONS, REFERENCES = 4, 10

torch.manual_seed(5)
model = torch.nn.Sequential(torch.nn.Linear(16, 96), torch.nn.ReLU(), torch.nn.Linear(96, LENGTH * 8))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
ways = torch.randn(16, LENGTH * 8)


def captions(pictures):
    return (pictures @ ways).view(-1, LENGTH, 8).argmax(-1)


def step(engine, pictures):
    model.train()
    scores = model(pictures).view(-1, LENGTH, 8)
    loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), captions(pictures).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


trainer = Engine(step)
RunningAverage(output_transform=lambda loss: loss).attach(trainer, "loss")


@trainer.on(Events.EPOCH_COMPLETED)
def tell(engine):
    print(f"Epoch[{engine.state.epoch}] Loss: {engine.state.metrics['loss']:.4f}", flush=True)


@trainer.on(Events.EPOCH_COMPLETED(every=6))
def judge(engine):
    pictures = torch.randn(CAPTIONS + REFERENCES, 16)
    said = model(pictures[:CAPTIONS]).view(-1, LENGTH, 8).argmax(-1).tolist()
    asked = json.dumps({"captions": said, "references": captions(pictures[CAPTIONS:]).tolist()}).encode()
    url = f"http://127.0.0.1:{Path('judge.port').read_text()}/judge"
    with urllib.request.urlopen(urllib.request.Request(url, asked), timeout=3600) as answer:
        scores = json.loads(answer.read())
    engine.state.score = sum(scores) / len(scores)
    print(f"Epoch[{engine.state.epoch}] judged: {engine.state.score:.4f}", flush=True)


stopper = EarlyStopping(10_000, lambda engine: engine.state.score, trainer)
print(f"pid {os.getpid()}", flush=True)
while not Path("judge.port").exists():
    time.sleep(0.2)
pictures = [torch.randn(32, 16) for _ in range(40)]
trainer.run(pictures, max_epochs=2000)
