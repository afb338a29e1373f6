"""Reads its shard, meets the others, trains."""

import csv
import io
import os
import random
import time

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def log(text: str) -> None:
    print(f"{time.strftime('%m/%d %H:%M:%S')} rank {RANK}: {text}", flush=True)


def clean(rows: int) -> list[list[float]]:
    """The raw table is quoted text with holes."""
    rng = random.Random(RANK)
    kept: list[list[float]] = []
    for _ in range(0, rows, 1000):
        cells = [f'"{rng.gauss(0, 1):.4f}"' if rng.random() > 0.01 else '"n/a"' for _ in range(8000)]
        raw = "\n".join(",".join(cells[place : place + 8]) for place in range(0, 8000, 8))
        kept += [[float(cell) for cell in row] for row in csv.reader(io.StringIO(raw)) if "n/a" not in row]
    return kept


def main() -> None:
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    log(f"starting, torch {torch.__version__}")
    rows = clean(1_000 * int(os.environ.get("THOUSANDS", "5").split(",")[RANK]))
    log(f"shard has {len(rows)} rows, initializing process group")
    dist.init_process_group("gloo")
    log("process group is up")
    data = torch.tensor(rows)
    torch.manual_seed(0)
    net = DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(1, 401):
        x = data[torch.randint(0, len(data), (64,))]
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.1)
        if step % 10 == 0:
            log(f"step {step} loss {loss.item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
