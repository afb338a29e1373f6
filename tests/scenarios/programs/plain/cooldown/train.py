"""Trains on a machine that gets hot: it looks at the temperature, and rests when there is too much of it."""

import random
import time


def temperature(step: int) -> int:
    return 93 if step == 30 else 60 + step % 20


loss = 2.0
for step in range(1, 80):
    if (hot := temperature(step)) > 90:
        print(f"{time.strftime('%H:%M:%S')} device at {hot} C, cooling down for 50 s", flush=True)
        time.sleep(50)
    loss = 0.97 * loss + 0.01 * random.random()
    time.sleep(0.25)
    print(f"{time.strftime('%H:%M:%S')} step {step:>4} loss {loss:.4f} temp {hot} C", flush=True)
