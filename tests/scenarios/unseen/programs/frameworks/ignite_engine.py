"""An ignite trainer and evaluator on two processes of idist.Parallel: handlers of its own, a bar, and early stopping far off."""

from __future__ import annotations

import argparse
import logging
import time

import ignite.distributed as idist
import torch
from ignite.contrib.handlers import ProgressBar
from ignite.engine import Engine, Events
from ignite.metrics import Accuracy, Loss
from torch.utils.data import DataLoader, TensorDataset

PER_EPOCH = 40


def spirals(count):
    """Points of two arms."""
    turn = torch.rand(count, generator=torch.Generator().manual_seed(count)) * 6
    arm = torch.arange(count) % 2
    angle = turn + arm * 3.14159
    points = torch.stack([turn * torch.cos(angle), turn * torch.sin(angle)], dim=1)
    return TensorDataset(points, arm)


def trainer_of(model, optimizer):
    """What one iteration does."""

    def update(engine, batch):
        model.train()
        points, arms = batch
        guess = model(points)
        loss = torch.nn.functional.cross_entropy(guess, arms)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.1)
        return {"loss": loss.item()}

    return Engine(update)


def evaluator_of(model):
    """What one batch of validation does."""

    def look(engine, batch):
        model.eval()
        points, arms = batch
        with torch.no_grad():
            guess = model(points)
        return guess, arms

    evaluator = Engine(look)
    Accuracy().attach(evaluator, "accuracy")
    Loss(torch.nn.functional.cross_entropy).attach(evaluator, "nll")
    return evaluator


def training(local_rank, folder, steps):
    """What each process does."""
    rank = idist.get_rank()
    logging.basicConfig(format=f"%(asctime)s ignite[{rank}] %(levelname)s: %(message)s", level=logging.INFO)
    torch.set_num_threads(1)
    model = idist.auto_model(torch.nn.Sequential(torch.nn.Linear(2, 24), torch.nn.Tanh(), torch.nn.Linear(24, 2)))
    optimizer = idist.auto_optim(torch.optim.SGD(model.parameters(), lr=0.05))
    loader = idist.auto_dataloader(spirals(PER_EPOCH * 32), batch_size=32, shuffle=True)
    held_out = DataLoader(spirals(128), batch_size=64)
    trainer, evaluator = trainer_of(model, optimizer), evaluator_of(model)

    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def share(engine):
        mean = idist.all_reduce(engine.state.output["loss"]) / idist.get_world_size()
        if mean > 50:
            logging.warning("loss grows: %.2f", mean)
        idist.barrier()

    @trainer.on(Events.EPOCH_COMPLETED)
    def validate(engine):
        state = evaluator.run(held_out)
        metrics = state.metrics
        if rank == 0:
            logging.info("Epoch[%d] accuracy: %.3f nll: %.3f", engine.state.epoch, metrics["accuracy"], metrics["nll"])

    @trainer.on(Events.ITERATION_COMPLETED)
    def enough(engine):
        if engine.state.iteration >= steps:
            engine.terminate()

    if rank == 0:
        ProgressBar(persist=True).attach(trainer, output_transform=lambda output: output)
    trainer.run(loader, max_epochs=1 + steps // PER_EPOCH)
    logging.info("training finished after %d iterations", trainer.state.iteration)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    rendezvous = f"file://{given.folder}/rendezvous"
    with idist.Parallel(backend="gloo", nproc_per_node=2, init_method=rendezvous, start_method="spawn") as parallel:
        parallel.run(training, given.folder, given.steps)


if __name__ == "__main__":
    main()
