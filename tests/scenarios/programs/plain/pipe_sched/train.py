"""A character model in three stages under torch's own pipeline schedule; the last stage shows samples from time to time."""

import os
import random

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

VOCAB, WIDTH, LENGTH, BATCH, MICRO = 40, 48, 24, 16, 4
CANDIDATES = {20: 200, 40: 200}
"""At which iterations samples are shown, and how many are drawn for each."""
NO_REPEAT = {}
"""At which iterations a token may not have been among so many before it."""

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
print(f"[stage {rank}] pid={os.getpid()}", flush=True)
torch.manual_seed(3)
dice = random.Random(7)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Embedding(VOCAB, WIDTH) if rank == 0 else nn.Identity()
        self.body = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.leave = nn.Linear(WIDTH, VOCAB) if rank == world - 1 else nn.Identity()

    def forward(self, value):
        return self.leave(self.body(self.enter(value)))


def loss_of(given, wanted):
    return nn.functional.cross_entropy(given.flatten(0, 1), wanted.flatten())


def draw(table, before, banned):
    """The next token, by the counts of what followed the last one."""
    while True:
        token = dice.choices(range(VOCAB), table[before[-1]])[0]
        if token not in banned:
            return token


def sample(table, candidates, window):
    """The likeliest of so many texts."""
    best, found = -1.0, []
    for _ in range(candidates):
        text = [0]
        while len(text) < 120:
            text.append(draw(table, text, set(text[-window:]) if window else set()))
        score = sum(table[one][two] for one, two in zip(text, text[1:]))
        if score > best:
            best, found = score, text
    return found


model = Block()
stage = PipelineStage(model, rank, world, torch.device("cpu"))
schedule = ScheduleGPipe(stage, MICRO, loss_fn=loss_of)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
counts = [[1 + (7 * one + 3 * two) % 5 for two in range(VOCAB)] for one in range(VOCAB)]

for iteration in range(1, 401):
    tokens = torch.randint(0, VOCAB, (BATCH, LENGTH))
    dist.broadcast(tokens, 0)
    optimizer.zero_grad()
    losses = []
    if rank == 0:
        schedule.step(tokens)
    elif rank == world - 1:
        schedule.step(target=tokens.roll(-1, 1), losses=losses)
        print(f"iteration {iteration}/400 | loss {sum(map(float, losses)) / MICRO:.4f}", flush=True)
    else:
        schedule.step()
    optimizer.step()
    if rank == world - 1 and iteration in CANDIDATES:
        text = sample(counts, CANDIDATES[iteration], NO_REPEAT.get(iteration, 0))
        print("sample: " + "".join(chr(65 + token) for token in text[:60]), flush=True)
dist.destroy_process_group()
