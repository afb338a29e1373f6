"""Language model on documents of very different length, one bucket a rank and step. torchrun, gloo."""

import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WINDOW = 1024
DIM = 128


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, DIM)
        self.attend = nn.MultiheadAttention(DIM, 4, batch_first=True)
        self.head = nn.Linear(DIM, 256)

    def forward(self, tokens):
        hidden = self.embed(tokens)
        mixed, _ = self.attend(hidden, hidden, hidden, need_weights=False)
        return self.head(hidden + mixed)


def length_of(step: int, rank: int) -> int:
    """Tokens of the document; the corpus has a few books among its notes."""
    if (step, rank) == (17, 1):
        return WINDOW * 800
    return 128 + 64 * ((step * 7 + rank * 3) % 5)


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = DistributedDataParallel(Block())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    began = time.monotonic()
    for step in range(1, 41):
        document = torch.randint(0, 256, (length_of(step, rank) + 1,))
        pieces = [document[at : at + WINDOW + 1] for at in range(0, len(document) - 1, WINDOW)]
        with model.no_sync():
            for piece in pieces[:-1]:
                loss = nn.functional.cross_entropy(model(piece[None, :-1])[0], piece[1:])
                (loss / len(pieces)).backward()
        last = pieces[-1]
        loss = nn.functional.cross_entropy(model(last[None, :-1])[0], last[1:])
        (loss / len(pieces)).backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(
                f"{time.strftime('%H:%M:%S')} step {step:>4}/40  loss {loss.item():.4f}  {time.monotonic() - began:.1f}s",
                flush=True,
            )
        time.sleep(0.2)
    if rank == 0:
        torch.save(model.module.state_dict(), "model.pt")
        print(f"saved model.pt ({os.path.getsize('model.pt')} bytes)", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
