"""Ignite: an engine, an evaluator and two loader processes that fetch what they need from a mirror."""

import os
import time
import urllib.request

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from torch.utils.data import DataLoader, Dataset

MIRROR = os.environ.get("MIRROR", "")
CROPS = 1


class Images(Dataset):
    """Sixteen images to a file; with no mirror they are made here."""

    def __init__(self, count):
        self.count, self.files = count, {}

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        part = index // 16
        if MIRROR and part not in self.files:
            with urllib.request.urlopen(f"{MIRROR}/images-{part:04d}") as answer:
                self.files[part] = answer.read()
        raw = self.files[part] if MIRROR else bytes((index * 7 + k) % 256 for k in range(256))
        shade = torch.frombuffer(bytearray(raw[index % 16 : index % 16 + 240]), dtype=torch.uint8).float() / 255
        return shade + 0.05 * torch.randn(240) + index % 4 / 10, index % 4


def named(worker):
    print(f"loader {worker} has pid {os.getpid()}", flush=True)


def main():
    torch.manual_seed(3)
    print(f"main process {os.getpid()}", flush=True)
    model = torch.nn.Sequential(torch.nn.Linear(240, 512), torch.nn.ReLU(), torch.nn.Linear(512, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    trainer = create_supervised_trainer(model, optimizer, torch.nn.functional.cross_entropy)
    metrics = {"accuracy": Accuracy(), "nll": Loss(torch.nn.functional.cross_entropy)}
    evaluator = create_supervised_evaluator(model, metrics)
    train = DataLoader(Images(640), batch_size=16, num_workers=2, worker_init_fn=named)
    valid = DataLoader(Images(64), batch_size=16)

    @trainer.on(Events.ITERATION_COMPLETED)
    def pace(engine):
        time.sleep(0.2)
        if engine.state.iteration % 4 == 0:
            print(f"Epoch[{engine.state.epoch}] Iteration[{engine.state.iteration}] Loss: {engine.state.output:.3f}", flush=True)

    @evaluator.on(Events.ITERATION_COMPLETED)
    def crops(engine):
        """Each image counts as often as it has crops."""
        x = engine.state.batch[0]
        with torch.no_grad():
            for _ in range(CROPS):
                model(x.roll(1, dims=1) * 0.99)

    @trainer.on(Events.EPOCH_COMPLETED)
    def judge(engine):
        state = evaluator.run(valid)
        print(f"Validation - Epoch[{engine.state.epoch}] accuracy {state.metrics['accuracy']:.3f}", flush=True)

    trainer.run(train, max_epochs=50)


if __name__ == "__main__":
    main()
