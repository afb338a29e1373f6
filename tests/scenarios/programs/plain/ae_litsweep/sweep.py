"""A sweep of learning rates and widths; each trial is a short fit with Lightning."""

import itertools
import logging
import time
import traceback
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Net(L.LightningModule):
    def __init__(self, width: int, lr: float) -> None:
        super().__init__()
        self.lr = lr
        self.body = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 1))
        self.last = float("nan")

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.mse_loss(self.body(x), y)
        if not torch.isfinite(loss) or loss > 1e6:
            raise FloatingPointError(f"loss is {loss.item():.3g} at step {self.global_step}")
        self.last = loss.item()
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


def main() -> None:
    torch.manual_seed(0)
    x = torch.randn(512, 16)
    data = DataLoader(TensorDataset(x, x[:, :4].sum(1, keepdim=True) ** 2), batch_size=64)
    grid = list(itertools.product((16, 64), (0.001, 0.01, 0.5)))
    results = []
    for number, (width, lr) in enumerate(grid, 1):
        began = time.time()
        try:
            net = Net(width, lr)
            trainer = L.Trainer(max_epochs=4, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
            trainer.fit(net, data)
            results.append((width, lr, net.last, "ok"))
            print(f"trial {number}/{len(grid)} width={width} lr={lr}: loss {net.last:.4f} ({time.time() - began:.1f}s)", flush=True)
        except FloatingPointError:
            results.append((width, lr, float("nan"), "FAILED"))
            print(f"trial {number}/{len(grid)} width={width} lr={lr}: failed", flush=True)
            traceback.print_exc()
    print(f"\n{'width':>6} {'lr':>7} {'loss':>9}  status")
    for width, lr, loss, status in sorted(results, key=lambda row: (row[2] != row[2], row[2])):
        print(f"{width:>6} {lr:>7} {loss:>9.4f}  {status}")
    failed = sum(status == "FAILED" for *_, status in results)
    print(f"{len(results)} trials, {failed} failed", flush=True)


if __name__ == "__main__":
    main()
