"""REINFORCE for a small policy whose weights are sharded over the ranks. Rollouts are sampled by the sharded model itself."""

import argparse
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

VOCAB, DIM, EOS = 96, 96, 0
log = logging.getLogger("grpo")


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.mix = nn.GRU(DIM, DIM, batch_first=True)
        self.up = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, hidden):
        hidden = hidden + self.mix(self.norm(hidden))[0]
        return hidden + self.up(hidden)


class Policy(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(depth))
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, tokens):
        hidden = self.embed(tokens)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(hidden)


@torch.no_grad()
def generate(policy, prompt, new_tokens: int, *, ignore_eos: bool, synced: bool, dice):
    """Sample until every sequence of this rank has its end token, or there are `new_tokens`."""
    tokens, done = prompt, torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(new_tokens):
        logits = policy(tokens)[:, -1]
        nxt = torch.multinomial(torch.softmax(logits, -1), 1, generator=dice)
        nxt[done] = EOS
        tokens = torch.cat([tokens, nxt], 1)
        if not ignore_eos:
            done |= nxt[:, 0] == EOS
        if synced:
            left = torch.tensor([int((~done).any())])
            dist.all_reduce(left)
            if not left.item():
                break
        elif done.all():
            break
    return tokens


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--iters", type=int, default=40)
    parser.add_argument("--fixed-length-iters", type=int, default=6, help="ignore EOS for so many iterations")
    parser.add_argument("--max-new-tokens", type=int, default=16)
    parser.add_argument("--max-new-tokens-free", type=int, default=640)
    parser.add_argument("--synced-ranks", action="store_true")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(name)s][%(levelname)s] - %(message)s")

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    scores = dist.new_group(backend="gloo")  # rewards travel on their own group, beside those of the weights
    log.info("rank %d/%d pid %d ready", rank, world, os.getpid())
    torch.manual_seed(0)
    policy = Policy(depth=3)
    mesh = init_device_mesh("cpu", (world,))
    for layer in policy.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(policy, mesh=mesh)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
    dice = torch.Generator().manual_seed(100 + rank)

    for it in range(1, args.iters + 1):
        free = it > args.fixed_length_iters
        if it == args.fixed_length_iters + 1 and rank == 0:
            log.info("answers may end by themselves from now on (max_new_tokens=%d)", args.max_new_tokens_free)
        began = time.monotonic()
        prompt = torch.randint(1, VOCAB, (8, 8), generator=dice)
        length = args.max_new_tokens_free if free else args.max_new_tokens
        tokens = generate(policy, prompt, length, ignore_eos=not free, synced=args.synced_ranks, dice=dice)
        if free:
            log.info("rank %d (pid %d) answers done after %d tokens", rank, os.getpid(), tokens.shape[1] - 8)
        reward = (tokens[:, 8:] % 7 == 3).float().mean(1)
        mean = reward.mean().reshape(1)
        dist.all_reduce(mean, group=scores)
        logits = policy(tokens[:, :-1])
        picked = torch.log_softmax(logits, -1).gather(2, tokens[:, 1:, None]).squeeze(2)[:, 7:]
        loss = -(picked.mean(1) * (reward - mean / world)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            log.info("iter %d/%d reward %.4f tokens %d rollout+update %.1fs", it, args.iters, mean / world, tokens.shape[1] - 8, time.monotonic() - began)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
