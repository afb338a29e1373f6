"""Lightning on a graph of products that are bought together; each fourth epoch the sampler's weights are taken from the graph."""

import os
import warnings

import lightning as L
import networkx as nx
import torch
from lightning.pytorch.callbacks import Callback
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
NODES = 1800
graph = nx.powerlaw_cluster_graph(NODES, 9, 0.3, seed=4)


class Link(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(NODES, 32)

    def training_step(self, batch, _):
        left, right, label, weight = batch
        score = (self.embed(left) * self.embed(right)).sum(1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(score, label, weight=weight)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)

    def train_dataloader(self) -> DataLoader:
        edges = torch.tensor(list(graph.edges))
        wrong = torch.randint(NODES, edges.shape)
        weight = torch.tensor([graph.nodes[int(a)].get("weight", 1.0) for a in torch.cat([edges, wrong])[:, 0]])
        label = torch.cat([torch.ones(len(edges)), torch.zeros(len(edges))])
        pairs = torch.cat([edges, wrong])
        return DataLoader(TensorDataset(pairs[:, 0], pairs[:, 1], label, weight), batch_size=512, shuffle=True)


class Reweigh(Callback):
    """Nodes through which many ways lead count for more."""

    def on_train_epoch_end(self, trainer, _module) -> None:
        if trainer.current_epoch % 4 == 3:
            central = nx.betweenness_centrality(graph, weight=lambda a, b, _: 1 + (a * 7 + b) % 5)
            top = max(central.values())
            nx.set_node_attributes(graph, {node: 0.5 + value / top for node, value in central.items()}, "weight")


class Lines(Callback):
    def on_train_epoch_start(self, trainer, _module) -> None:
        print(f"\n-- epoch {trainer.current_epoch + 1} of 12 (pid {os.getpid()})", flush=True)


if __name__ == "__main__":
    L.seed_everything(1, verbose=False)
    trainer = L.Trainer(
        max_epochs=12,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        reload_dataloaders_every_n_epochs=4,
        callbacks=[Lines(), Reweigh()],
    )
    trainer.fit(Link())
