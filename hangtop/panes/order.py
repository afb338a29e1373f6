"""The panes of the watch screen, in the order of their keys. A new pane is an entry here."""

from __future__ import annotations

from hangtop.panes.gpus import GpusPane
from hangtop.panes.log import LogPane
from hangtop.panes.pane import Pane
from hangtop.panes.processes import ProcessesPane
from hangtop.panes.ranks import RanksPane
from hangtop.panes.ray import RayPane

PANES: tuple[type[Pane], ...] = (RanksPane, GpusPane, ProcessesPane, RayPane, LogPane)
"""Each is made once, without arguments. The log is last: it takes what the others leave."""
