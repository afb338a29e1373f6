"""A game of cards against a dealer: draw or stand, 21 is best."""

import random

Weights = dict[int, float]


def hand(rng: random.Random, weights: Weights, explore: float) -> tuple[list[tuple[int, bool]], float]:
    """What was held and whether it drew; and what it won."""
    held, path = rng.randint(2, 20), []
    while held < 21:
        draws = rng.random() < explore if rng.random() < 0.1 else weights.get(held, 0.0) > 0
        path.append((held, draws))
        if not draws:
            break
        held += rng.randint(1, 11)
    dealer = 0
    while dealer < 17:
        dealer += rng.randint(1, 11)
    won = -1.0 if held > 21 or held < dealer <= 21 else 1.0
    return path, won
