"""Fits, keeps the best epoch, and tells the chat about it."""

import logging
import socket
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(relativeCreated)8d ms %(levelname)s %(message)s")
log = logging.getLogger()


def tell(text: str) -> None:
    with socket.create_connection(("127.0.0.1", 9), timeout=2) as chat:
        chat.sendall(text.encode())


def main() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(512, 20)
    target = inputs[:, :1] * inputs[:, 1:2]
    model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    best, when = float("inf"), 0
    for epoch in range(12):
        for rows in torch.randperm(512).split(64):
            loss = nn.functional.mse_loss(model(inputs[rows]), target[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        value = nn.functional.mse_loss(model(inputs), target).item()
        log.info("epoch %d mse %.5f", epoch, value)
        if value < best:
            best, when = value, epoch
            torch.save(model.state_dict(), "best.pt")
        time.sleep(0.4)
    log.info("best is epoch %d (%.5f), kept in best.pt", when, best)
    try:
        tell(f"run over, best {best:.5f}")
    except OSError:
        log.exception("the chat could not be told; nothing lost")


if __name__ == "__main__":
    main()
