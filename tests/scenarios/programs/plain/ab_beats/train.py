"""Three ranks; rank 0 validates after 30 steps, and a thread of it tells all the time that it lives."""

import threading
import time

import torch
import torch.distributed as dist

phase = "train"


def beat(began: float) -> None:
    while True:
        time.sleep(4)
        print(f"heartbeat rank=0 phase={phase} up={time.time() - began:.0f}s", flush=True)


def validate(weight: torch.Tensor) -> torch.Tensor:
    """Nearest neighbours of 700 samples, one by one."""
    bank = torch.randn(6000, 64)
    wrong = torch.zeros(1)
    for sample in torch.randn(700, 64):
        near = (bank - sample).square().sum(1).topk(20, largest=False).indices
        wrong += (bank[near] @ weight - sample.sum()).abs().mean()
        time.sleep(0.045)
    return wrong / 700


def main() -> None:
    global phase
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    if rank == 0:
        threading.Thread(target=beat, args=(time.time(),), daemon=True).start()
    weight = torch.zeros(64)
    for step in range(1, 90):
        batch = torch.randn(64, 64)
        grad = batch.T @ (batch @ weight - batch.sum(1)) / 64
        dist.all_reduce(grad)
        weight -= 0.05 * grad / 3
        time.sleep(0.2)
        if rank == 0:
            print(f"step {step} loss {grad.norm().item():.4f}", flush=True)
        if step % 30 == 0:
            phase = "validate"
            wrong = validate(weight) if rank == 0 else torch.zeros(1)
            dist.broadcast(wrong, 0)
            phase = "train"
            if rank == 0:
                print(f"validation error {wrong.item():.4f}", flush=True)
    dist.destroy_process_group()


main()
