"""Three ranks; after 25 steps each takes the tree of words of its language, and rank 1 has the one with most words."""

import gc
import random
import time

import torch
import torch.distributed as dist


def tree(words: int) -> dict[str, object]:
    """A tree of words; garbage is collected between, so that memory stays small."""
    rng = random.Random(words)
    root: dict[str, object] = {}
    for count in range(words):
        node = root
        for letter in rng.choices("aeinrstlmoudkg", k=rng.randint(3, 12)):
            node = node.setdefault(letter, {})  # type: ignore[assignment]
        node["end"] = {"count": count}
        if count % 60 == 0:
            gc.collect()
    return root


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    weight = torch.zeros(16)
    words: dict[str, object] = {}
    for step in range(1, 120):
        if step == 26:
            words = tree(26000 if rank == 1 else 300)
        batch = torch.randn(32, 16)
        grad = batch.T @ (batch @ weight - batch.sum(1) - len(words)) / 32
        dist.all_reduce(grad)
        weight -= 0.05 * grad / 3
        time.sleep(0.2)
        if rank == 0:
            print(f"step {step} loss {grad.norm().item():.4f}", flush=True)
    dist.destroy_process_group()


main()
