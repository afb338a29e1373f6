"""The panes of the watch screen, in the order of their keys. A new pane is an entry here."""

from __future__ import annotations

from hangtop.tui.panes.gpus_pane import GpusPane
from hangtop.tui.panes.log_pane import LogPane
from hangtop.tui.panes.pane import Pane
from hangtop.tui.panes.processes_pane import ProcessesPane
from hangtop.tui.panes.ranks_pane import RanksPane
from hangtop.tui.panes.ray_pane import RayPane

PANES: tuple[type[Pane], ...] = (RanksPane, GpusPane, ProcessesPane, RayPane, LogPane)
"""The log is last: it takes the room that the others leave."""
