"""A tagger with Accelerate on two processes; sentences of several lengths are padded by hand."""

import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset[tuple[list[int], list[int]]]):
    def __len__(self) -> int:
        return 640

    def __getitem__(self, index: int) -> tuple[list[int], list[int]]:
        length = 5 + index * 7 % 20
        return [(index * 31 + place) % 200 for place in range(length)], [(index + place) % 9 for place in range(length)]


def padded(rows: list[tuple[list[int], list[int]]]) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(len(words) for words, _ in rows)
    words = torch.zeros(len(rows), width, dtype=torch.long)
    tags = torch.full((len(rows), width), -100)
    for row, (some, theirs) in enumerate(rows):
        words[row, : len(some)] = torch.tensor(some)
        tags[row, : len(theirs)] = torch.tensor(theirs)
    return words, tags


def main() -> None:
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    model: nn.Module = nn.Sequential(nn.Embedding(200, 32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 9))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(Sentences(), batch_size=16, collate_fn=padded)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(1, 5):
        for step, (words, tags) in enumerate(loader, 1):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(words).transpose(1, 2), tags)
            accelerator.backward(loss)
            optimizer.step()
            time.sleep(0.05)
            if step % 5 == 0:
                accelerator.print(f"epoch {epoch} step {step}/20 loss {loss.item():.4f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.print("saved tagger.pt", flush=True)


if __name__ == "__main__":
    main()
