"""Pane 5: Ray's actors, or its nodes, and faults of Ray itself. Enlarged: each actor has a row with pid, GPU, CPU and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace
from textual.binding import BindingType

from hangtop.common.text import some
from hangtop.diagnosis.facts.ray_health import troubles
from hangtop.records.ray.cluster import RayCluster
from hangtop.render.log.log_query import LogQuery
from hangtop.render.ray.ray_lines import clusters_shown, death_rows, nothing, other_lines, summary, trouble_rows, wish_rows
from hangtop.render.ray.ray_nodes import NodeRow, node_rows, node_table
from hangtop.render.ray.ray_rows import ORDERS, PLAIN, ActorOptions, ActorRow, actor_rows, key_of, table_rows
from hangtop.render.spans import Row, cut
from hangtop.render.view import View
from hangtop.tui.panes.pane import one_line
from hangtop.tui.panes.selectable_pane import SelectablePane, told_at_right
from hangtop.tui.selection import Selection, select_actor
from hangtop.tui.widgets.layout import PaneNeed

MOST_ROWS = 16


class RayPane(SelectablePane):
    """Shows the cluster of the run, and how many others there are. The choice is an actor, or a node while nodes are shown
    (`a`)."""

    id_, key, title = "ray", "5", "Ray actors"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("right", "unfold", "unfold"),
        ("left", "fold", "fold"),
        ("o", "order", "order"),
        ("a", "nodes", "nodes or actors"),
        ("escape", "leave", "back"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.shape = PLAIN
        self.chosen: str | None = None
        self.node: str | None = None
        self._by_node: tuple[NodeRow, ...] | None = None
        self._table: tuple[ActorRow, ...] = ()

    def want(self, view: View, width: int) -> PaneNeed:
        shown = clusters_shown(view)
        if not shown:
            return PaneNeed(1)
        if self.by_node:
            above = _above(view, shown[0], width)
            return PaneNeed(3 + len(above) + min(len(shown[0].nodes), MOST_ROWS))
        rows = self._look(view, shown[0])
        around = len(_above(view, shown[0], width)) + len(_below(view, shown, rows, width))
        return PaneNeed(1 + around + min(len(rows) + 1, MOST_ROWS + 1))

    def body(self, view: View, width: int, height: int) -> list[Row]:
        shown = clusters_shown(view)
        self._table, self.painted, self._by_node = (), (), None
        if not shown:
            return one_line(self, nothing(view), width)
        if self.by_node:
            return self._node_body(view, shown[0], width, height)
        rows = self._table = self._look(view, shown[0])
        above, below = _above(view, shown[0], width), _below(view, shown, rows, width)
        seen = self.in_sight(height, len(rows), len(above), len(below))
        table = table_rows(rows, width, full=self._full, shown=seen) if rows else []
        head = self.head(summary(shown[0], rows, view.now), width, self._how(seen, len(rows)))
        return [head, *above, *table, *below]

    def _node_body(self, view: View, cluster: RayCluster, width: int, height: int) -> list[Row]:
        """The nodes as rows, below the faults."""
        rows = self._by_node = node_rows(cluster, view.now, _in_trouble(view), self.node)
        above = _above(view, cluster, width)
        seen = self.in_sight(height, len(rows), len(above), below=1)
        said = summary(cluster, actor_rows(cluster, view.now, trouble=_in_trouble(view)), view.now)
        return [self.head(said, width, self._how(seen, len(rows))), *above, *node_table(rows, width, seen)]

    def alarm(self, view: View) -> tuple[str, str] | None:
        for cluster in clusters_shown(view)[:1]:
            odd = [row for row in actor_rows(cluster, view.now, trouble=_in_trouble(view)) if row.role]
            if odd:
                return f"{sum(len(row.actors) for row in odd)} odd", odd[0].role
            sick = [trouble for trouble in troubles(cluster, view.now) if trouble.part != "session"]
            if sick:
                return "sick", "warn"
        return None

    @property
    def search(self) -> LogQuery:
        return LogQuery(self.shape.pattern or None)

    def look_for(self, pattern: str) -> None:
        """Show only actors that contain this text."""
        self._reshape(replace(self.shape, pattern=pattern))

    @property
    def by_node(self) -> bool:
        """Whether nodes are shown: a filter and an order are for actors."""
        return self.shape.nodes and not self.shape.single

    def chosen_row(self) -> ActorRow | None:
        """The chosen row of actors, if it is there."""
        line = self.chosen_line()
        return None if line is None or self._by_node is not None else self._table[line]

    @property
    def selection(self) -> Selection | None:
        row = self.chosen_row()
        return None if row is None else select_actor(row.first) if len(row.actors) == 1 else Selection(alike=len(row.actors))

    def choosable(self) -> Sequence[int]:
        return range(len(self._shown))

    def action_unfold(self) -> None:
        """Give each actor of the class a row."""
        row = self.chosen_row()
        if row is not None:
            self._reshape(replace(self.shape, opened=self.shape.opened | {row.first.cls}))

    def action_fold(self) -> None:
        row = self.chosen_row()
        if row is not None:
            self._reshape(replace(self.shape, opened=self.shape.opened - {row.first.cls}))

    def action_nodes(self) -> None:
        """Switch between nodes and actors."""
        self.top = 0
        self._reshape(ActorOptions(opened=self.shape.opened, nodes=not self.by_node))

    def action_open(self) -> None:
        """Open the page of the chosen actor; alike ones are unfolded first. Of a node: its actors."""
        row = self.chosen_row()
        if self._by_node is not None and (line := self.chosen_line()) is not None:
            self.look_for(self._by_node[line].node.host)
        elif row is None:
            self.hangtop.action_detail()
        elif len(row.actors) > 1:
            self.action_unfold()
        else:
            self.hangtop.show_actor(key_of(row.first))

    def action_order(self) -> None:
        self._reshape(replace(self.shape, order=ORDERS[(ORDERS.index(self.shape.order) + 1) % len(ORDERS)]))

    def action_leave(self) -> None:
        """One step back: filter and order, then the choice; then as everywhere."""
        if self.shape.single:
            self._reshape(ActorOptions(opened=self.shape.opened, nodes=self.shape.nodes))
        elif self._by_node is not None:
            self.node = None
            self._reshape(ActorOptions(opened=self.shape.opened))
        elif self.chosen is not None:
            self.chosen = None
            self.hangtop.repaint()
        else:
            self.call_next(self.hangtop.action_back)

    @property
    def _full(self) -> bool:
        return self.hangtop.enlarged == self.id_

    def _look(self, view: View, cluster: RayCluster) -> tuple[ActorRow, ...]:
        trouble = _in_trouble(view)
        at_work = view.verdict.at_work if view.verdict is not None else ()
        return actor_rows(
            cluster, view.now, trouble=trouble, at_work=at_work, folded=not self._full, shape=self.shape, chosen=self.chosen
        )

    def _how(self, seen: slice, total: int) -> Row:
        order = self.shape.order if self.shape.order != PLAIN.order else ""
        return told_at_right(seen, total, pattern=self.shape.pattern, order=order)

    @property
    def _shown(self) -> Sequence[ActorRow | NodeRow]:
        """The rows to choose from."""
        return self._table if self._by_node is None else self._by_node

    def chosen_line(self) -> int | None:
        return next((line for line, row in enumerate(self._shown) if row.chosen), None)

    def choose_line(self, line: int) -> None:
        if self._by_node is None:
            self.chosen = key_of(self._table[line].first)
        else:
            self.node = self._by_node[line].node.id

    def _reshape(self, shape: ActorOptions) -> None:
        self.shape = shape
        self.hangtop.repaint()


def _in_trouble(view: View) -> bool:
    """Whether differing actors are red: in a slow run they differ for good reason."""
    return view.verdict is not None and not (view.verdict.state.healthy or view.verdict.state.works)


def _above(view: View, cluster: RayCluster, width: int) -> list[Row]:
    """Faults, and what waits."""
    return [*trouble_rows(cluster, view.now, width), *wish_rows(cluster, width)]


def _below(view: View, shown: Sequence[RayCluster], rows: Sequence[ActorRow], width: int) -> list[Row]:
    """Why the first dead actor died, unread output on other nodes, and other clusters."""
    return [*death_rows(rows, width), *_far_logs(view, width), *other_lines(view, shown, width)]


def _far_logs(view: View, width: int) -> list[Row]:
    """How much output on other nodes was read: a rank of which nothing was read is not silent."""
    readings = view.state.ray.values()
    read, known = sum(reading.far_logs_read for reading in readings), sum(reading.far_logs for reading in readings)
    return (
        [cut(((f"output on other nodes: {read} of {some(known, 'file')} read, odd ranks first", "muted"),), width)]
        if read < known
        else []
    )
