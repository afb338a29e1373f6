"""Accelerate: a batch that grows while it trains, by longer accumulation."""

import time

import torch
from accelerate import Accelerator

RAMP = ((0, 1), (6, 3), (14, 70))

accelerator = Accelerator(cpu=True)
torch.manual_seed(accelerator.process_index)
model = torch.nn.Sequential(torch.nn.Linear(512, 1536), torch.nn.ReLU(), torch.nn.Linear(1536, 512))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
model, optimizer = accelerator.prepare(model, optimizer)
accelerator.print(f"{accelerator.num_processes} processes on {accelerator.device}", flush=True)
began = time.time()
for update in range(40):
    accelerator.gradient_accumulation_steps = [k for first, k in RAMP if first <= update][-1]
    total = 0.0
    for _ in range(accelerator.gradient_accumulation_steps):
        with accelerator.accumulate(model):
            x = torch.randn(3072, 512)
            loss = torch.nn.functional.mse_loss(model(x), x.roll(1, dims=1))
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item()
    seen = total / accelerator.gradient_accumulation_steps
    accelerator.print(f"update {update:3d} | loss {seen:.4f} | {time.time() - began:6.1f} s", flush=True)
