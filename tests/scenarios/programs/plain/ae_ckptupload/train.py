"""Trains a little, and puts each checkpoint into the bucket; large files go up in parts."""

import argparse
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests
import torch
from torch import nn

PART = 1_500_000
logging.basicConfig(level=logging.INFO, format="%(asctime)s.%(msecs)03d %(name)-8s %(message)s", datefmt="%m-%d %H:%M:%S")
log = logging.getLogger("trainer")


class Bucket:
    def __init__(self, url: str, workers: int) -> None:
        self.url = url
        self.pool = ThreadPoolExecutor(workers, thread_name_prefix="upload")

    def put(self, name: str, body: bytes) -> None:
        requests.put(f"{self.url}/{name}", data=body).raise_for_status()

    def put_file(self, path: Path) -> int:
        """One file; its parts are uploaded side by side."""
        size = path.stat().st_size
        if size <= PART:
            self.put(path.name, path.read_bytes())
            return size
        body, parts = path.read_bytes(), []
        for number, start in enumerate(range(0, size, PART)):
            parts.append(self.pool.submit(self.put, f"{path.name}.part{number:03d}", body[start : start + PART]))
        for part in parts:
            part.result()
        return size

    def put_folder(self, folder: Path) -> None:
        waiting = {path: self.pool.submit(self.put_file, path) for path in sorted(folder.iterdir())}
        for path, done in waiting.items():
            log.info("uploaded %s (%.2f MB)", path, done.result() / 1e6)


def save(model: nn.Module, folder: Path, shards: int) -> None:
    folder.mkdir(parents=True)
    layers = [(name, layer) for name, layer in model.named_modules() if isinstance(layer, nn.Linear)]
    shards = min(shards, len(layers))
    for shard in range(shards):
        torch.save({name: layer.state_dict() for name, layer in layers[shard::shards]}, folder / f"model-{shard + 1:05d}-of-{shards:05d}.pt")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--upload-workers", type=int, default=4)
    args = parser.parse_args()
    bucket = Bucket(os.environ["BUCKET"], args.upload_workers)
    torch.manual_seed(0)
    probe = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    body = nn.Sequential(*(nn.Linear(640, 640) for _ in range(4)))
    optimizer = torch.optim.SGD(probe.parameters(), lr=0.05)
    for step in range(1, 1001):
        x = torch.randn(32, 64)
        loss = nn.functional.cross_entropy(probe(x), x[:, :8].argmax(1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 0:
            log.info("step %d loss %.4f", step, loss.item())
        if step % 100 == 0:
            full = step == 400
            folder = Path(f"ckpt/step{step}")
            save(nn.ModuleList([probe, body]) if full else probe, folder, 4)
            log.info("saved %s (%s), uploading", folder, "full" if full else "probe only")
            bucket.put_folder(folder)


if __name__ == "__main__":
    main()
