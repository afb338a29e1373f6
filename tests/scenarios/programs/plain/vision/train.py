"""A small image classifier with a bar for each epoch, and a test on the whole test set after it."""

import argparse
from itertools import pairwise

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


def images(count: int, seed: int) -> TensorDataset:
    made = torch.Generator().manual_seed(seed)
    return TensorDataset(torch.rand(count, 3, 32, 32, generator=made), torch.randint(0, 10, (count,), generator=made))


class Net(nn.Module):
    """Three convolutions."""

    def __init__(self) -> None:
        super().__init__()
        widths, layers = [3, 16, 32, 64], list[nn.Module]()
        for before, after in pairwise(widths):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.features(x))
        return out


def accuracy(net: nn.Module, data: TensorDataset, views: int) -> float:
    net.eval()
    right = 0
    with torch.no_grad():
        for x, y in DataLoader(data, batch_size=100):
            logits = torch.stack([net(torch.roll(x, view, dims=3)) for view in range(views)]).mean(0)
            right += int((logits.argmax(1) == y).sum())
    net.train()
    return right / len(data)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--tta", type=int, default=8)
    given = parser.parse_args()
    torch.manual_seed(0)
    train, test = images(320, 1), images(1400, 2)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(1, given.epochs + 1):
        bar = tqdm(DataLoader(train, batch_size=16, shuffle=True), desc=f"Epoch {epoch}/{given.epochs}", mininterval=0.5)
        for x, y in bar:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bar.set_postfix(loss=f"{loss.item():.3f}")
        print(f"epoch {epoch}: test accuracy {accuracy(net, test, given.tta):.2%}", flush=True)
        torch.save(net.state_dict(), "last.pt")


if __name__ == "__main__":
    main()
