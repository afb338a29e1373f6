"""First part of the recipe."""

import time
from pathlib import Path

for step in range(1, 26):
    time.sleep(0.15)
    print(f"pretrain step {step}/25 loss {4 / step:.4f}", flush=True)
Path("out").mkdir(exist_ok=True)
Path("out/model.txt").write_text("\n".join(f"{k * 0.37 % 1:.6f}" for k in range(400)))
print("Training complete! Total time: 3.8 s", flush=True)
