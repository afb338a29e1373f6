"""Trains on a corpus that each loader process indexes for itself when it starts."""

import logging
import random
from collections import Counter

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(
    level=logging.INFO, format="[%(asctime)s,%(msecs)03d][%(name)s][%(levelname)s] - %(message)s", datefmt="%Y-%m-%d %H:%M:%S"
)
log = logging.getLogger(__name__)


class Corpus(Dataset[torch.Tensor]):
    """Documents of made words, packed into rows of the same length; a curriculum adds documents after the first epoch."""

    def __init__(self, documents: int) -> None:
        self.documents = documents
        self.rows: list[list[int]] | None = None

    def __len__(self) -> int:
        return 320

    def _index(self) -> list[list[int]]:
        rng = random.Random(3)
        texts = [" ".join(f"w{int(rng.paretovariate(0.7)) % 3000}" for _ in range(200)) for _ in range(self.documents)]
        seen = Counter(word for text in texts for word in text.split())
        number = {word: place for place, (word, _) in enumerate(seen.most_common(1000))}
        flat = [number.get(word, 0) for text in texts for word in text.split()]
        return [flat[start : start + 64] for start in range(0, len(flat) - 64, 64)]

    def __getitem__(self, place: int) -> torch.Tensor:
        if self.rows is None:
            self.rows = self._index()
        return torch.tensor(self.rows[place % len(self.rows)])


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(1000, 64), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1000))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch, documents in enumerate((200, 70_000, 200)):
        loader = DataLoader(Corpus(documents), batch_size=8, shuffle=True, num_workers=2)
        for number, rows in enumerate(loader, start=1):
            loss = nn.functional.cross_entropy(model(rows[:, :-1]).transpose(1, 2), rows[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if number % 10 == 0:
                log.info("epoch=%d batch=%d/%d loss=%.4f", epoch, number, len(loader), loss.item())
    log.info("Training completed")


if __name__ == "__main__":
    main()
