"""Games as lines: number, player, moves."""

import random
import sys

rng = random.Random(8)
for game in range(int(sys.argv[1])):
    moves = "".join(rng.choices("LRUD", k=24))
    sys.stdout.write(f"{game} player{rng.randrange(400):03d} {moves}\n")
