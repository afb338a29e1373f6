"""The footer: keys on the left, sources on the right."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import cast

from msgspec.structs import replace
from rich.cells import cell_len
from textual.events import Click

from hangtop.common import text
from hangtop.diagnosis.sources_seen import failure
from hangtop.records.health import NO_ANSWER_S, SourceHealth
from hangtop.records.nodes import is_node
from hangtop.records.watch_spec import ASKED_SOURCES, DEFAULT_SOURCES
from hangtop.render.spans import Row, between, cut, width_of
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.keys import DROPPED_FIRST, DROPPED_FIRST_WHEN_IT_STANDS, DROPPED_FIRST_WHEN_OVER, NEVER_DROPPED, Key
from hangtop.tui.live_screen import LiveScreen
from hangtop.tui.widgets.row_widget import HintLine

HIDDEN = frozenset(ASKED_SOURCES)
MISSED = ("gpu", "ray")
"""Absent sources are named only if they have a pane."""
ROOM_FOR_SOURCES = 120
"""Below this width the keys of a run that stands need the room in which its sources are named."""


def source_sign(view: View, health: SourceHealth) -> tuple[str, str]:
    """(sign, role): live, late, stuck, refused, absent. Old data of a source that does look counts as refused."""
    if health.absent is not None:
        return "○", "stale"
    if health.problem is not None:
        return "?", "warn"
    if health.busy_s > max(NO_ANSWER_S, health.deadline_s):
        return "■", "bad"
    if health.is_late:
        return "▲", "warn"
    return ("●", "ok") if failure(health, view.state, view.now) is None else ("?", "warn")


def sources_row(view: View) -> Row:
    if view.state.probe is not None and not view.state.probe.alive:
        return (("■ ", "bad"), (say("probe is gone"), "bad"))
    row: Row = ()
    for health in _known(view):
        sign, role = source_sign(view, health)
        late = f" {text.age(health.busy_s)}" if role in ("bad", "warn") and health.is_late else ""
        row = (
            *row,
            ("  " if row else "", ""),
            (f"{sign} ", role),
            (health.name + late, "muted" if role in ("ok", "stale") else role),
        )
    return row


def sources_short(view: View) -> Row:
    """`● 4 sources`, with the sign of the worst."""
    known = _known(view)
    if not known or (view.state.probe is not None and not view.state.probe.alive):
        return sources_row(view)
    worst = max((source_sign(view, health) for health in known), key=lambda sign: ("○●?▲■").index(sign[0]))
    return ((f"{worst[0]} ", worst[1]), (say(text.some(len(known), "source")), "muted"))


def keys_row(keys: tuple[Key, ...], gap: int = 3) -> Row:
    row: Row = ()
    for key in keys:
        row = (*row, (" " * gap if row else "", ""), (f"{key.shown} ", "accent bold"), (say(key.word), key.role))
    return row


def footer_row(view: View, width: int, keys_there: tuple[Key, ...], *, brief: bool = False) -> Row:
    """Keys are dropped on a narrow screen, but never back, help and quit. `brief`: sources as one sign, or none, since a page
    needs the room for its keys."""
    short, dropped = width < 100, _dropped(view)
    brief_sources = brief or short or (width < ROOM_FOR_SOURCES and dropped is DROPPED_FIRST_WHEN_IT_STANDS)
    right = (*(sources_short(view) if brief_sources else sources_row(view)), (" ", ""))
    gap = 2 if short else 3
    if brief and width_of(keys_row(tuple(key for key in keys_there if key.word), gap)) > width - width_of(right) - 2:
        right = ()
    keys, all_fit = _fitting(keys_there, width - width_of(right) - 2, gap, dropped)
    return between(((" ", ""), *keys), right if all_fit else (), width)


def _dropped(view: View) -> tuple[str, ...]:
    """The keys that go first from a narrow footer, by the state of the run."""
    state = view.verdict.state if view.verdict is not None else None
    if state is None or (state.works and not state.ended):
        return DROPPED_FIRST
    return DROPPED_FIRST_WHEN_OVER if state.ended else DROPPED_FIRST_WHEN_IT_STANDS


@lru_cache(maxsize=64)
def _fitting(keys_there: tuple[Key, ...], room: int, gap: int, dropped: tuple[str, ...]) -> tuple[Row, bool]:
    """The keys that fit, and false if even the ones that are never dropped do not."""
    keys = [key for key in keys_there if key.word]
    while width_of(row := keys_row(tuple(keys), gap)) > room:
        spare = [key for key in keys if key.name not in NEVER_DROPPED and key.role == "muted"]
        if not spare:
            return row, False
        first = min(spare, key=lambda key: dropped.index(key.name) if key.name in dropped else len(dropped))
        keys.remove(first if first.name in dropped else spare[-1])
    return row, True


def _known(view: View) -> list[SourceHealth]:
    known = [
        health
        for health in view.state.health.values()
        if health.name not in HIDDEN and (health.absent is None or health.name in MISSED)
    ]
    nodes = [health for health in known if is_node(health.name)]
    if len(nodes) > 1:  # one sign for all: that of one which is not well, if any is
        worst = next((health for health in nodes if health.problem is not None), nodes[0])
        known = [*(health for health in known if health not in nodes), replace(worst, name="nodes")]
    order = {name: place for place, name in enumerate(DEFAULT_SOURCES)}
    return sorted(known, key=lambda health: (order.get(health.name, len(order)), health.name))


class KeysLine(HintLine):
    """A click on a key presses it. While the mouse is on something that can be told, that stands here."""

    def paint_line(self, keys: Row) -> None:
        """The keys, or what is under the mouse."""
        hinted = cast("LiveScreen", self.screen).hinted
        self.paint((cut(((" ", ""), (hinted, "ink")), self.size.width) if hinted else keys,))

    @property
    def keys_there(self) -> tuple[Key, ...]:
        return self.hangtop.keymap.all_of(self.hangtop.footer_keys)

    def row_at(self, line: int) -> Row:
        return self.rows[line] if line < len(self.rows) else ()

    def on_click(self, event: Click) -> None:
        shown = key_at(self.row_at(event.y), event.x)
        name = next((key.keys for key in self.keys_there if key.shown == shown), "")
        if name:
            self.app.simulate_key(name.partition(",")[0])


class Footer(KeysLine):
    def show(self, view: View) -> None:
        self.paint_line(footer_row(view, self.size.width, self.keys_there))


def key_at(row: Row, x: int) -> str | None:
    key = None
    for end, words, role in _ends(row):
        key = words if role == "accent bold" else key if role else None
        if x < end:
            return key
    return None


def words_at(row: Row, x: int) -> str:
    """The words at this cell, as far as they have one colour: the label of a button."""
    return next((words for end, words, _ in _ends(row) if x < end), "")


def _ends(row: Row) -> Iterator[tuple[int, str, str]]:
    """(cell at which it ends, words, role) of each span."""
    ends = accumulate(cell_len(words) for words, _ in row)
    return ((end, words.strip(), role) for end, (words, role) in zip(ends, row, strict=True))
