"""Kleines Netz für Schwingungen einer Brücke, mit Ignite. Frühes Ende, wenn die Prüfung nicht besser wird."""

import logging
import sys

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping, ModelCheckpoint
from ignite.metrics import MeanSquaredError
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", datefmt="%d.%m.%Y %H:%M:%S")
log = logging.getLogger("bruecke")


def daten(zahl: int, seed: int) -> TensorDataset:
    wuerfel = torch.Generator().manual_seed(seed)
    zeit = torch.rand(zahl, 8, generator=wuerfel) * 6
    return TensorDataset(zeit, torch.sin(zeit).sum(1, keepdim=True) + 0.1 * torch.randn(zahl, 1, generator=wuerfel))


def main() -> None:
    torch.manual_seed(1)
    netz = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
    optimierer = torch.optim.Adam(netz.parameters(), lr=3e-3)
    trainer = create_supervised_trainer(netz, optimierer, nn.functional.mse_loss)
    pruefer = create_supervised_evaluator(netz, {"mse": MeanSquaredError()})
    pruefung = DataLoader(daten(512, 2), batch_size=128)
    gesehen = {"beste": float("inf")}

    @trainer.on(Events.EPOCH_COMPLETED)
    def pruefen(engine) -> None:
        pruefer.run(pruefung)
        mse = pruefer.state.metrics["mse"]
        gesehen["beste"] = min(gesehen["beste"], mse)
        log.info("Epoche %d/%d: Verlust %.4f, Prüfung %.4f", engine.state.epoch, engine.state.max_epochs, engine.state.output, mse)

    @trainer.on(Events.EPOCH_COMPLETED(every=5))
    def melden(engine) -> None:
        try:
            raise ConnectionError("[Errno 111] Connection refused: mlflow.intern:5000")
        except ConnectionError as fehler:
            log.error("Kennzahlen konnten nicht gemeldet werden: %s (Training läuft weiter)", fehler)

    pruefer.add_event_handler(Events.COMPLETED, EarlyStopping(patience=4, score_function=lambda e: -round(e.state.metrics["mse"], 1), trainer=trainer))
    pruefer.add_event_handler(Events.COMPLETED, ModelCheckpoint("modelle", "bruecke", n_saved=1, score_function=lambda e: -e.state.metrics["mse"]), {"netz": netz})
    trainer.run(DataLoader(daten(2048, 3), batch_size=64, shuffle=True), max_epochs=80)
    log.info("Beste Prüfung %.4f, Modell liegt in modelle/", gesehen["beste"])


if __name__ == "__main__":
    main()
