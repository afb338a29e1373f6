"""Pane 5: Ray's actors, and what is sick in Ray itself. Enlarged: every actor a row of its own, with pid, GPU, CPU and memory."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.diagnosis.ray import troubles
from hangtop.panes.arrange import Want
from hangtop.panes.line import Row
from hangtop.panes.pane import Pane
from hangtop.panes.ranks import one_line
from hangtop.panes.ray_rows import actor_rows, death_rows, summary, table_rows, trouble_rows, wish_rows
from hangtop.panes.ray_sessions import clusters_shown, nothing, other_lines
from hangtop.panes.view import View
from hangtop.panes.words import CALM_WORDS
from hangtop.records.ray import RayCluster

MOST_ROWS = 16


class RayPane(Pane):
    """The cluster of the run. Of clusters that are not its own only their number is told."""

    id_, key, title = "ray", "5", "Ray actors"

    def want(self, view: View, width: int) -> Want:
        shown = clusters_shown(view)
        if not shown:
            return Want(1)
        above, table, below = _lines(view, shown, width)
        return Want(1 + len(above) + min(len(table), MOST_ROWS + 1) + len(below))

    def body(self, view: View, width: int, height: int) -> list[Row]:
        shown = clusters_shown(view)
        if not shown:
            return one_line(self, nothing(view), width)
        full = self.hangtop.enlarged == self.id_
        rows = actor_rows(shown[0], view.now, trouble=_in_trouble(view))
        above, table, below = _lines(view, shown, width, full=full)
        room = max(2, height - 1 - len(above) - len(below))
        if len(table) > room:
            table = [*table[: room - 1], ((f"and {len(table) - room + 1} rows more: 5 enlarges", "stale"),)]
        return [self.head(summary(shown[0], rows, view.now), width), *above, *table, *below]

    def alarm(self, view: View) -> tuple[str, str] | None:
        for cluster in clusters_shown(view)[:1]:
            odd = [row for row in actor_rows(cluster, view.now, trouble=_in_trouble(view)) if row.role]
            if odd:
                return f"{sum(len(row.actors) for row in odd)} odd", odd[0].role
            sick = [one for one in troubles(cluster, view.now) if one.part != "session"]
            if sick:
                return "sick", "warn"
        return None


def _in_trouble(view: View) -> bool:
    return view.verdict is not None and view.verdict.word not in CALM_WORDS


def _lines(view: View, shown: Sequence[RayCluster], width: int, *, full: bool = False) -> tuple[list[Row], list[Row], list[Row]]:
    """(what is sick, the table, what stands under it)."""
    cluster = shown[0]
    rows = actor_rows(cluster, view.now, trouble=_in_trouble(view), folded=not full)
    above = [*trouble_rows(cluster, view.now, width), *wish_rows(cluster, width)]
    table = table_rows(rows, width, full=full) if rows else []
    below = [*death_rows(rows, width), *other_lines(view, shown, width)]
    return above, table, below
