"""A small transformer; after some warm-up steps without it, the model is compiled."""

import os
import time

import torch
from torch import nn

WARM_UP, STEPS = 20, 400


class Block(nn.Module):
    """Attention and two layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joint = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.joint(self.before(x)).chunk(3, -1))
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.mix(seen)
        out: torch.Tensor = x + self.feed(self.between(x))
        return out


def main() -> None:
    torch.manual_seed(0)
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.abspath("inductor_cache"))
    model: nn.Module = nn.Sequential(nn.Embedding(256, 128), Block(128), nn.Linear(128, 256))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    run = model
    began = time.time()
    for step in range(1, STEPS + 1):
        if step == WARM_UP + 1:
            run = torch.compile(model)  # type: ignore[assignment]
        words = torch.randint(0, 256, (8, 65))
        loss = nn.functional.cross_entropy(run(words[:, :-1]).transpose(1, 2), words[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 5 == 0:
            print(f"step {step}/{STEPS} | loss {loss.item():.4f} | {(time.time() - began) / 5 * 1000:.1f} ms/step", flush=True)
            began = time.time()


if __name__ == "__main__":
    main()
