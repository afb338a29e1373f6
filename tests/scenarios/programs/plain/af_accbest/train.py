"""Accelerate on two processes; the best weights so far are shared by file, for they go to the next job that way too."""

import os
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

BEST = Path("best")
BEST.mkdir(exist_ok=True)
accelerator = Accelerator(cpu=True)
set_seed(3 + accelerator.process_index)
x = torch.randn(2048, 16)
data = torch.utils.data.TensorDataset(x, (x**2).sum(1, keepdim=True).sqrt())
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))
loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3), loader)
print(f"process {accelerator.process_index}: pid {os.getpid()}", flush=True)
best = float("inf")
for epoch in range(1, 31):
    total = torch.zeros(())
    for inputs, targets in loader:
        loss = (model(inputs) - targets).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        total += loss.detach()
        time.sleep(0.01)
    mean = accelerator.reduce(total, reduction="mean").item() / len(loader)
    accelerator.print(f"epoch {epoch:02d}/30 loss {mean:.4f}")
    # the spread over the processes is of interest for the best only, from the tenth epoch on
    if mean < best:
        best = mean
        file = BEST / f"epoch-{epoch}.pt"
        if accelerator.is_main_process:
            spread = accelerator.gather(total).std().item() if epoch >= 10 else 0.0
            torch.save({"weights": accelerator.unwrap_model(model).state_dict(), "spread": spread}, f"{file}.part")
            os.replace(f"{file}.part", file)
        while not file.exists():
            time.sleep(0.2)
accelerator.print("training complete")
accelerator.end_training()
