"""A large batch from small ones: many backward passes before each update. Accelerate, two processes."""

import time

import torch
from accelerate import Accelerator
from torch import nn

PASSES = 180


def main() -> None:
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=PASSES)
    torch.manual_seed(accelerator.process_index)
    model = nn.Sequential(
        nn.Conv1d(16, 96, 9, padding=4), nn.GELU(), nn.Conv1d(96, 96, 9, padding=4), nn.GELU(), nn.Conv1d(96, 16, 9, padding=4)
    )
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.05))
    began = time.monotonic()
    for update in range(1, 7):
        total = 0.0
        for _ in range(PASSES):
            with accelerator.accumulate(model):
                waves = torch.randn(8, 16, 1500)
                loss = nn.functional.mse_loss(model(waves), waves.roll(1, -1))
                accelerator.backward(loss)
                total += loss.item()
                optimizer.step()
                optimizer.zero_grad()
        accelerator.print(f"+{time.monotonic() - began:7.1f}s  update {update} of 6: mse {total / PASSES:.4f}", flush=True)
    accelerator.print("weights at wave.pt", flush=True)
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), "wave.pt")


if __name__ == "__main__":
    main()
