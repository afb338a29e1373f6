"""Boosted stumps on a table of flats, five folds; after each fold what each column was worth."""

import time
from pathlib import Path

import numpy as np

ROUNDS, PATIENCE, REPEATS = 60, 8, 45
FOLDS_EXPLAINED = (2, 4)

source = np.random.default_rng(7)
table = source.normal(size=(6000, 24))
price = table[:, 0] * 2 + np.sin(table[:, 1] * 2) + table[:, 2] * table[:, 3] + source.normal(scale=0.4, size=6000)


def stump(rows, rest):
    """The best cut of the best column."""
    best = (np.inf, 0, 0.0, 0.0, 0.0)
    for column in range(rows.shape[1]):
        for cut in np.quantile(rows[:, column], (0.1, 0.3, 0.5, 0.7, 0.9)):
            left = rows[:, column] < cut
            low, high = rest[left].mean(), rest[~left].mean()
            loss = np.square(rest - np.where(left, low, high)).mean()
            best = min(best, (loss, column, cut, low, high))
    return best[1:]


def predict(model, rows):
    out = np.zeros(len(rows))
    for column, cut, low, high in model:
        out += 0.3 * np.where(rows[:, column] < cut, low, high)
    return out


def train(fold, rows, wanted, valid, valid_wanted):
    model, best, best_round = [], np.inf, 0
    for round_ in range(1, ROUNDS + 1):
        model.append(stump(rows, wanted - predict(model, rows)))
        rmse = np.sqrt(np.square(valid_wanted - predict(model, valid)).mean())
        if rmse < best - 1e-4:
            best, best_round = rmse, round_
        print(f"[fold {fold}] round {round_:>3} valid rmse {rmse:.4f}", flush=True)
        if round_ - best_round > PATIENCE:
            break
    print(f"[fold {fold}] Training finished. Best round {best_round}, rmse {best:.4f}", flush=True)
    Path(f"fold{fold}.txt").write_text(repr(model[:best_round]))
    print(f"[fold {fold}] Model saved to fold{fold}.txt. Done.", flush=True)
    return model


def worth(model, rows, wanted):
    """How much worse each column makes it when it is shuffled."""
    whole = np.square(wanted - predict(model, rows)).mean()
    found = np.zeros(rows.shape[1])
    for _ in range(REPEATS):
        for column in range(rows.shape[1]):
            mixed = rows.copy()
            source.shuffle(mixed[:, column])
            found[column] += (np.square(wanted - predict(model, mixed)).mean() - whole) / REPEATS
    return found


parts = np.array_split(source.permutation(len(table)), 5)
began = time.time()
for fold, part in enumerate(parts, 1):
    rest = np.setdiff1d(np.arange(len(table)), part)
    model = train(fold, table[rest], price[rest], table[part], price[part])
    if fold in FOLDS_EXPLAINED:
        order = np.argsort(-worth(model, np.tile(table, (3, 1)), np.tile(price, 3)))
        print(f"[fold {fold}] columns by worth: {order[:6].tolist()}", flush=True)
print(f"five folds in {time.time() - began:.0f} s", flush=True)
