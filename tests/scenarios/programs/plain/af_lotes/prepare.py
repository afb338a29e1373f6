import random
import time

rng = random.Random(0)
with open("exemples.txt", "w") as f:
    for lot in range(8):
        f.writelines(f"{rng.random()} {rng.random()}\n" for _ in range(500))
        time.sleep(0.2)
        print(f"préparation : {500 * (lot + 1)} exemples sur 4000")
