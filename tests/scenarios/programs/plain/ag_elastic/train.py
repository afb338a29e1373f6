"""Goes on from its last checkpoint whenever the launcher starts it anew."""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist

STEPS = 40


def batch(step: int, rank: int) -> torch.Tensor:
    """The step's records of this rank."""
    time.sleep(0.12)
    return torch.randn(8, 16, generator=torch.Generator().manual_seed(step * 10 + rank))


def main() -> None:
    dist.init_process_group("gloo")
    rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    kept = Path("state.pt")
    state = torch.load(kept) if kept.exists() else {"step": 0, "weights": torch.zeros(16)}
    if rank == 0:
        print(f"attempt {attempt}: from step {state['step']}", flush=True)
    for step in range(state["step"] + 1, STEPS + 1):
        rows = batch(step, rank)
        slope = (rows * (rows @ state["weights"] - 1).unsqueeze(1)).mean(0)
        dist.all_reduce(slope)
        state = {"step": step, "weights": state["weights"] - 0.05 * slope}
        if rank == 0:
            print(f"step {step}/{STEPS} |w| {state['weights'].norm():.4f}", flush=True)
        if step % 10 == 0:
            if rank == 0:
                torch.save(state, kept)
            dist.barrier()
    if rank == 0:
        print(f"training complete after {attempt + 1} attempt(s)", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
