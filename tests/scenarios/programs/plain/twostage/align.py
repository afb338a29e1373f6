"""Last part of the recipe."""

import time

for step in range(1, 21):
    time.sleep(0.15)
    print(f"align step {step}/20 margin {step / 20:.2f}", flush=True)
