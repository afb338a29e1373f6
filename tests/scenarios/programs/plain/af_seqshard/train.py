"""Bag-of-context language model; each rank reads its own shard of documents, gradients are averaged by hand."""

import argparse
import os
import random

import torch
import torch.distributed as dist

STEPS, WIDTH, VOCAB = 40, 48, 256


def shard(rank: int) -> list[list[torch.Tensor]]:
    """The batches of this rank. A few books among the web pages are long, and documents are sorted into batches by length."""
    rng = random.Random(rank)
    books = {1: 14}
    batches = []
    for step in range(STEPS):
        long = books.get(rank) == step
        lengths = [rng.randrange(21000, 24000) for _ in range(5)] if long else [rng.randrange(60, 200) for _ in range(6)]
        batches.append([torch.tensor([rng.randrange(VOCAB) for _ in range(n)]) for n in lengths])
    return batches


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(VOCAB, WIDTH)
        self.cell = torch.nn.GRUCell(WIDTH, WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCAB)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        state, states = torch.zeros(1, WIDTH), []
        for token in self.embed(tokens[:-1]):
            state = self.cell(token[None], state)
            states.append(state)
        return torch.nn.functional.cross_entropy(self.head(torch.cat(states)), tokens[1:])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-len", type=int, default=32768, help="longer documents are left out")
    given = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    stats = dist.new_group(backend="gloo")
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    print(f"[rank{rank}] pid {os.getpid()} of {world}", flush=True)
    for step, batch in enumerate(shard(rank)):
        documents = [tokens for tokens in batch if len(tokens) <= given.max_len]
        seen, total = 0, 0.0
        if documents:
            optimizer.zero_grad()
            for tokens in documents:
                loss = model(tokens) / len(documents)
                loss.backward()
                total += float(loss)
                seen += len(tokens)
            works = [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]
            for work in works:
                work.wait()
            for p in model.parameters():
                p.grad /= world
            optimizer.step()
        gathered = [None] * world
        dist.all_gather_object(gathered, (seen, total), group=stats)
        if rank == 0:
            tokens, mean = sum(s for s, _ in gathered), sum(t for _, t in gathered) / world
            print(f"step={step:03d}/{STEPS} loss={mean:.4f} tokens={tokens}", flush=True)
    if rank == 0:
        torch.save(model.state_dict(), "model.pt")
        print("saved model.pt", flush=True)
    dist.destroy_process_group()


main()
