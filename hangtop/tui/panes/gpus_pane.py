"""Pane 3: the GPUs of the run: of one node as rows, of many nodes as means; what stands out first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec.structs import replace
from textual.binding import BindingType

from hangtop.common import text
from hangtop.common.memo import memoized
from hangtop.diagnosis.facts.gpu_outliers import facts
from hangtop.diagnosis.facts.leftover_members import leftovers
from hangtop.diagnosis.members.rank_gpus import of_run, ranks_on
from hangtop.records.gpu import Gpu, NodeGpus
from hangtop.render.gpu_head import kinds_said, nodes_summary, summary
from hangtop.render.gpu_nodes import node_rows, node_table
from hangtop.render.gpu_rows import GpuRow, gpu_rows, table_rows
from hangtop.render.jitter_filter import SteadyGpu, settle
from hangtop.render.source_status import source_line
from hangtop.render.spans import BLANK, Row, cut
from hangtop.render.under_mouse import gpu_told
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.bindings import local
from hangtop.tui.panes.pane import SelectablePane, one_line, part_in_sight
from hangtop.tui.selection import Selection
from hangtop.tui.widgets.layout import PaneNeed

MOST_NODES = 13


class GpusPane(SelectablePane):
    """Keeps the painted values, so that numbers stand still within their noise.

    The choice is a GPU index, or a node while several are shown. `opened`: the node whose GPUs are shown in place of the means.
    """

    id_, title = "gpus", "GPUs"
    chosen: int | str | None
    BINDINGS: ClassVar[list[BindingType]] = local(right="open", left="close")

    def __init__(self) -> None:
        super().__init__()
        self.opened: str | None = None
        self._shown: dict[str, dict[int, SteadyGpu]] = {}
        self._gpus: tuple[GpuRow, ...] = ()

    def want(self, view: View, width: int) -> PaneNeed:
        nodes = _nodes(view)
        if not nodes:
            return PaneNeed(1)
        host = self._open(nodes)
        rows = min(len(nodes), MOST_NODES)
        if host is not None:
            rows = sum(1 + len(gpu.mig or ()) for gpu in nodes[host].reading.gpus)
        return PaneNeed(2 + rows + len(_notes(nodes)))

    def body(self, view: View, width: int, height: int) -> list[Row]:
        nodes = _nodes(view)
        self.things, self.painted, self._gpus = (), (), ()
        if not nodes:
            return one_line(self, nothing(view), width)
        notes: list[Row] = [cut(((f"  {note}", "muted"),), width) for note in _notes(nodes)]
        host = self._open(nodes)
        if host is None:
            return [*self._means(view, nodes, width, height - len(notes)), *notes]
        rows = gpu_rows(
            nodes[host],
            view.now,
            shown=self._steady(view, host),
            trouble=in_trouble(view),
            ranks=ranks_on(view.ranks, view.state, host),
            of_run=of_run(view.state, host),
            odd_ranks=view.verdict.apart if view.verdict else (),
            at_work=view.verdict.at_work if view.verdict else (),
            held=leftovers(view.state, over=True).gpus if view.verdict and view.verdict.state.ended else (),
        )
        self._gpus = rows = tuple(replace(row, chosen=row.gpu.index == self.chosen) for row in rows)
        self.things = [row.gpu.index for row in rows]
        parts = [(line, *[None for _ in row.gpu.mig or ()]) for line, row in enumerate(rows)]
        self.painted = (None, None, *(line for lines in parts for line in lines))
        brief = summary(rows)
        of_many = ((f"{host}  ", "ink bold"), *brief) if len(nodes) > 1 else brief
        right: Row = ((say("← all nodes"), "muted"),) if len(nodes) > 1 else BLANK
        return [self.head(of_many, width, right), *table_rows(rows, width), *notes]

    def _means(self, view: View, nodes: Mapping[str, NodeGpus], width: int, height: int) -> list[Row]:
        """A row for each node: the ones that fit, or, while one is chosen, a scrolling table."""
        means = node_rows(nodes, view.now, trouble=in_trouble(view))
        self.things = [row.host for row in means]
        node = self.chosen if isinstance(self.chosen, str) and self.chosen in self.things else None
        if node is None:
            self.top = 0
        at = self.in_sight(height, len(means)) if node is not None else None
        table = node_table(means, width, height - 1, chosen=node, at=at)
        first = at.start if at is not None else 0
        self.painted = (None, None, *range(first, min(len(means), first + len(table) - 1)))
        right = part_in_sight(at, len(means)) if at is not None else BLANK
        return [self.head(nodes_summary(means, view.now, trouble=in_trouble(view)), width, right), *table]

    def _open(self, nodes: Mapping[str, NodeGpus]) -> str | None:
        """The node whose GPUs are shown; `None` while all nodes are."""
        if len(nodes) == 1:
            return next(iter(nodes))
        return self.opened if self.opened in nodes else None

    def told(self, x: int, y: int) -> str:
        line = self.line_at(x, y)
        return gpu_told(self._gpus[line]) if line is not None and line < len(self._gpus) else ""

    def chosen_ranks(self) -> tuple[int, ...] | None:
        """The ranks on the chosen GPU or node; `None` if none is chosen."""
        if self.chosen_line() is None:
            return None
        view = self.hangtop.view
        if isinstance(self.chosen, str):
            return tuple(sorted(rank for ranks in ranks_on(view.ranks, view.state, self.chosen).values() for rank in ranks))
        on_gpus = ranks_on(view.ranks, view.state, self._open(_nodes(view)) or "")
        return () if self.chosen is None else on_gpus.get(self.chosen, ())

    @property
    def selection(self) -> Selection | None:
        ranks = self.chosen_ranks()
        return None if ranks is None else Selection(ranks[0]) if len(ranks) == 1 else Selection(alike=len(ranks))

    def action_open(self) -> None:
        """Open the chosen node; of a GPU the page of its rank, or its own."""
        host, ranks = self._open(_nodes(self.hangtop.view)), self.chosen_ranks()
        match self.chosen if ranks is not None else None:
            case str() as node:
                self.opened, self.chosen = node, None
                self.hangtop.repaint()
            case int() as index if host is not None and not ranks:
                self.hangtop.show_gpu(host, index)
            case _:
                if ranks:
                    self.hangtop.choose_rank(ranks[0])
                self.hangtop.action_detail()

    def step_back(self) -> bool:
        """The choice, then the opened node, which stays chosen, then that choice."""
        if self.chosen is not None:
            self.chosen = None
        elif self.opened is not None:
            self.opened, self.chosen = None, self.opened
        else:
            return False
        return True

    def action_close(self) -> None:
        if not isinstance(self.chosen, str):  # a chosen node stands among all nodes
            self.opened, self.chosen = None, self.opened
            self.hangtop.repaint()

    def alarm(self, view: View) -> tuple[str, str] | None:
        """`GPU 3 lost`, `2 lost`: the gravest fault."""
        found = [fact for host, node in _nodes(view).items() for fact in facts(node, view.now, of_run(view.state, host))]
        grave = [fact for fact in found if fact.role == "bad" or fact.kind == "late"]
        kinds = kinds_said(grave, trouble=in_trouble(view))
        if not kinds:
            return None
        alike = [fact for fact in grave if fact.kind == kinds[0]]
        who = f"GPU {alike[0].index}" if len(alike) == 1 else str(len(alike))
        return say(f"{who} {kinds[0]}"), alike[0].role

    def _steady(self, view: View, host: str) -> dict[int, Gpu]:
        self._shown = {host: settle(self._shown.get(host, {}), view.state.gpus[host], view.now)}
        return {index: shown.gpu for index, shown in self._shown[host].items()}


def in_trouble(view: View) -> bool:
    """Whether idle and busily waiting GPUs are coloured: in a slow run peers wait for good reason."""
    return view.verdict is not None and view.verdict.state.trouble


def nothing(view: View) -> Row:
    """Why there is no table: no GPU, or a driver that hangs at its start."""
    for node in view.state.gpus.values():
        if (since := node.reading.stuck_since) is not None:
            return (
                (say(f"no answer for {text.age(view.now - since)}"), "bad"),
                (say(f": {node.reading.stuck_in} has not returned"), "muted"),
            )
    return source_line(view, "gpu")


def _nodes(view: View) -> Mapping[str, NodeGpus]:
    return _with_gpus(view.state.gpus)


@memoized
def _with_gpus(nodes: Mapping[str, NodeGpus]) -> dict[str, NodeGpus]:
    return {host: node for host, node in nodes.items() if node.reading.gpus}


def _notes(nodes: Mapping[str, NodeGpus]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for node in nodes.values() for note in node.reading.notes))
