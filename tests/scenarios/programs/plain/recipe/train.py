"""Fits a line through the numbers."""

import time
import warnings

with open("numbers.txt", encoding="utf-8") as file:
    numbers = [int(line) / 3000 for line in file]
slope = 0.0
for epoch in range(1, 11):
    for place, number in enumerate(numbers):
        slope -= 0.1 * (slope * place / 3000 - number) * place / 3000
    print(f"Epoch {epoch}/10 - slope {slope:.5f}", flush=True)
    if epoch == 7:
        warnings.warn("loss is constant; did you mean to stop?", RuntimeWarning, stacklevel=1)
    time.sleep(0.4)
with open("model.txt", "w", encoding="utf-8") as file:
    file.write(str(slope))
