"""Pane 5: Ray's actors, or its nodes, and faults of Ray itself. Enlarged: each actor has a row with pid, GPU, CPU and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace
from textual.binding import BindingType

from hangtop.common.text import some
from hangtop.diagnosis.facts.ray_health import troubles
from hangtop.records.ray.cluster import RayCluster
from hangtop.render.ray.ray_lines import clusters_shown, death_rows, nothing, other_lines, summary, trouble_rows, wish_rows
from hangtop.render.ray.ray_nodes import NodeRow, node_rows, node_table
from hangtop.render.ray.ray_rows import ORDERS, PLAIN, ActorOptions, ActorRow, actor_rows, key_of, table_rows
from hangtop.render.spans import Row, cut
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.bindings import local
from hangtop.tui.panes.pane import TablePane, one_line
from hangtop.tui.selection import Selection, select_actor
from hangtop.tui.widgets.layout import PaneNeed

MOST_ROWS = 16


class RayPane(TablePane[ActorOptions]):
    """Shows the cluster of the run, and how many others there are. The choice is an actor, or a node while nodes are shown
    (`a`)."""

    id_, title, orders = "ray", "Ray actors", ORDERS
    chosen: str | None
    BINDINGS: ClassVar[list[BindingType]] = local(right="unfold", left="fold", everything="nodes")

    def __init__(self) -> None:
        super().__init__()
        self.options = PLAIN
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
        self._table, self.things, self.painted, self._by_node = (), (), (), None
        if not shown:
            return one_line(self, nothing(view), width)
        if self.by_node:
            return self._node_body(view, shown[0], width, height)
        rows = self._table = self._look(view, shown[0])
        self.things = [key_of(row.first) for row in rows]
        above, below = _above(view, shown[0], width), _below(view, shown, rows, width)
        seen = self.in_sight(height, len(rows), len(above), len(below))
        table = table_rows(rows, width, full=self.hangtop.enlarged == self.id_, shown=seen) if rows else []
        head = self.head(summary(shown[0], rows, view.now), width, self.options_shown(seen, len(rows)))
        return [head, *above, *table, *below]

    def _node_body(self, view: View, cluster: RayCluster, width: int, height: int) -> list[Row]:
        rows = self._by_node = node_rows(cluster, view.now, _in_trouble(view), self.node)
        self.things = [row.node.id for row in rows]
        above = _above(view, cluster, width)
        seen = self.in_sight(height, len(rows), len(above), below=1)
        found = summary(cluster, actor_rows(cluster, view.now, trouble=_in_trouble(view)), view.now)
        return [self.head(found, width, self.options_shown(seen, len(rows))), *above, *node_table(rows, width, seen)]

    def alarm(self, view: View) -> tuple[str, str] | None:
        for cluster in clusters_shown(view)[:1]:
            odd = [row for row in actor_rows(cluster, view.now, trouble=_in_trouble(view)) if row.role]
            if odd:
                return say(f"{sum(len(row.actors) for row in odd)} odd"), odd[0].role
            sick = [trouble for trouble in troubles(cluster, view.now) if trouble.part != "session"]
            if sick:
                return say("sick"), "warn"
        return None

    @property
    def by_node(self) -> bool:
        """Whether nodes are shown: a filter and an order are for actors."""
        return self.options.nodes and not self.options.single

    def chosen_row(self) -> ActorRow | None:
        line = self.chosen_line()
        return None if line is None or self._by_node is not None else self._table[line]

    @property
    def selection(self) -> Selection | None:
        row = self.chosen_row()
        return None if row is None else select_actor(row.first) if len(row.actors) == 1 else Selection(alike=len(row.actors))

    def action_unfold(self) -> None:
        """Give each actor of the class a row."""
        row = self.chosen_row()
        if row is not None:
            self.ask_for(replace(self.options, opened=self.options.opened | {row.first.cls}))

    def action_fold(self) -> None:
        row = self.chosen_row()
        if row is not None:
            self.ask_for(replace(self.options, opened=self.options.opened - {row.first.cls}))

    def action_nodes(self) -> None:
        self.top = 0
        self.ask_for(ActorOptions(opened=self.options.opened, nodes=not self.by_node))

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

    def step_back(self) -> bool:
        if self.options.single:
            self.options = ActorOptions(opened=self.options.opened, nodes=self.options.nodes)
        elif self._by_node is not None:
            self.node = None
            self.options = ActorOptions(opened=self.options.opened)
        elif self.chosen is not None:
            self.chosen = None
        else:
            return False
        return True

    def _look(self, view: View, cluster: RayCluster) -> tuple[ActorRow, ...]:
        trouble = _in_trouble(view)
        at_work = view.verdict.at_work if view.verdict is not None else ()
        return actor_rows(
            cluster,
            view.now,
            trouble=trouble,
            at_work=at_work,
            folded=self.hangtop.enlarged != self.id_,
            shape=self.options,
            chosen=self.chosen,
        )

    def chosen_line(self) -> int | None:
        rows: Sequence[ActorRow | NodeRow] = self._table if self._by_node is None else self._by_node
        return next((line for line, row in enumerate(rows) if row.chosen), None)

    def choose_line(self, line: int) -> None:
        if self._by_node is None:
            super().choose_line(line)
        else:
            self.node = self._by_node[line].node.id


def _in_trouble(view: View) -> bool:
    """Whether differing actors are red: in a slow run they differ for good reason."""
    return view.verdict is not None and not (view.verdict.state.healthy or view.verdict.state.works)


def _above(view: View, cluster: RayCluster, width: int) -> list[Row]:
    return [*trouble_rows(cluster, view.now, width), *wish_rows(cluster, width)]


def _below(view: View, shown: Sequence[RayCluster], rows: Sequence[ActorRow], width: int) -> list[Row]:
    """Why the first dead actor died, unread output on other nodes, and other clusters."""
    return [*death_rows(rows, width), *_far_logs(view, width), *other_lines(view, shown, width)]


def _far_logs(view: View, width: int) -> list[Row]:
    """How much output on other nodes was read: a rank of which nothing was read is not silent."""
    readings = view.state.ray.values()
    read, known = sum(reading.far_logs_read for reading in readings), sum(reading.far_logs for reading in readings)
    if read >= known:
        return []
    return [cut(((say(f"output on other nodes: {read} of {some(known, 'file')} read, odd ranks first"), "muted"),), width)]
