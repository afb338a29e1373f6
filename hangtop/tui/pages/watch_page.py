"""The main screen: every part in the place that `arrange` gives it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Click, MouseDown, MouseMove, MouseUp
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from hangtop.common.memo import memoized
from hangtop.render.log.log_query import LogQuery
from hangtop.render.source_status import trouble_rows
from hangtop.render.spans import Row, at_most, cut, folded, width_of
from hangtop.render.view import View
from hangtop.translations import say
from hangtop.tui.background_work import written
from hangtop.tui.bindings import local
from hangtop.tui.live_screen import LiveScreen
from hangtop.tui.pane_choice import PaneChoice
from hangtop.tui.panes.footer import Footer
from hangtop.tui.panes.gpus_pane import GpusPane
from hangtop.tui.panes.log_pane import FilterPrompt, LogPane
from hangtop.tui.panes.pane import Pane, TablePane
from hangtop.tui.panes.processes_pane import ProcessesPane
from hangtop.tui.panes.ranks_pane import RanksPane
from hangtop.tui.panes.ray_pane import RayPane
from hangtop.tui.panes.stages_pane import StageBar
from hangtop.tui.panes.status_line import StatusLine, badge
from hangtop.tui.panes.verdict_pane import VerdictBand, verdict_rows
from hangtop.tui.selection import Selection
from hangtop.tui.widgets.dividers import Divider, divider_at, dragged, higher
from hangtop.tui.widgets.layout import (
    LEAST_HEIGHT,
    LEAST_LOG,
    LEAST_WIDTH,
    VERDICT_LINES,
    PaneNeed,
    arrange,
    is_wide,
    too_small,
    trouble_lines,
)
from hangtop.tui.widgets.row_widget import RowWidget

NO_CHOICE = PaneChoice()
PANES: tuple[type[Pane], ...] = (RanksPane, GpusPane, ProcessesPane, RayPane, LogPane)
"""Their keys are bound in this order."""


class PlacedLayout(Layout):
    """Puts each widget where the screen has placed it by id."""

    name = "placed"

    def __init__(self) -> None:
        self.places: dict[str, Region] = {}

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        parent.pre_layout(self)
        return [
            WidgetPlacement(place, NULL_OFFSET, NULL_SPACING, child)
            for child in children
            if (place := self.places.get(child.id or "")) is not None
        ]


class Tabs(RowWidget):
    """One pane at a time on a small terminal; the others with their alarm."""

    def __init__(self, panes: Sequence[Pane]) -> None:
        super().__init__(id="tabs")
        self._panes = panes
        self._ends: list[tuple[int, str]] = []  # the cell at which each tab ends, and its pane
        self._alarms = memoized(self._alarms_of)

    def show(self, view: View) -> None:
        row: Row = ()
        self._ends = []
        alarms = dict(zip((pane.id_ for pane in self._panes), self._alarms(view), strict=True))
        for pane in cast("WatchScreen", self.screen).in_sight:
            alarm = alarms[pane.id_]
            name = say(pane.title.split()[0])
            key = self.hangtop.keymap.shown(f"pane_{pane.id_}")
            if pane.id_ == self.hangtop.active:
                row = (*row, (f" {key} {name} ", "accent bold reverse"), ("  ", ""))
            else:
                word = ((f" {say(alarm[0])}", alarm[1]),) if alarm else ()
                row = (*row, (f" {key}", "accent bold"), (f" {name}", "muted"), *word, ("  ", ""))
            self._ends.append((width_of(row), pane.id_))
        self.paint((cut(row, self.size.width),))

    def _alarms_of(self, view: View) -> tuple[tuple[str, str] | None, ...]:
        return tuple(pane.alarm(view) for pane in self._panes)

    def on_click(self, event: Click) -> None:
        pane = next((pane for end, pane in self._ends if event.x < end), None)
        if pane is not None:
            self.hangtop.action_pane(pane)


class TooSmall(RowWidget):
    """All that a very small terminal shows: badge, headline, in trouble what to do first, and what room the rest needs."""

    def show(self, view: View) -> None:
        self.paint(small_rows(view, max(1, self.size.width), self.size.height))


def small_rows(view: View, width: int, height: int) -> list[Row]:
    """The truth on as many lines as there are."""
    verdict = view.verdict
    needs = say(f"hangtop needs {LEAST_WIDTH}x{LEAST_HEIGHT} cells")
    has = say(f"this terminal has {width}x{height}")
    below: list[Row] = [((needs[:width], "muted"),), ((has[:width], "muted"),)]
    headline = folded(((say(verdict.headline), "ink"),), width, 0) if verdict is not None else []
    if verdict is None or not verdict.state.trouble or not view.advice:
        room = height - 1 - len(below)
        return [*(cut(row, width) for row in (badge(view), *headline[:room])), *below] if room >= 0 else below
    first = view.advice[0]
    do = folded(((f"{say('do')} ", "muted"), (first.paste or say(first.words), "accent bold")), width, 3)
    spared = min(len(do), (height - 1) // 2)
    told = [badge(view), *at_most(headline, max(1, height - 1 - spared), width)][:height]
    rows = [*told, *(at_most(do, height - len(told), width) if len(told) < height else ()), *below]
    return [cut(row, width) for row in rows[:height]]


class TroubleLine(RowWidget):
    """The first source that is not well and has no pane in view to say so, and why."""

    def show(self, view: View) -> None:
        self.paint(troubles(view, *self.app.size))


def troubles(view: View, width: int, height: int) -> list[Row]:
    """What the lines above the footer say on a terminal of this size."""
    return trouble_rows(view, width - 2, wide=is_wide(width, height), lines=trouble_lines(height))


class WatchScreen(LiveScreen):
    """`active`: id of the pane with the focus, which is the open tab on a small terminal."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = "WatchScreen { background: $background; overflow: hidden; StatusLine, Footer { background: $panel; } }"
    BINDINGS: ClassVar[list[BindingType]] = local(
        next_pane="app.next_pane", pane_before="app.next_pane(-1)", up="choose(-1)", down="choose(1)"
    )

    def __init__(self, chosen: PaneChoice = NO_CHOICE) -> None:
        super().__init__()
        self.chosen = chosen
        self._placed = PlacedLayout()
        self.ranks_pane, self.gpus_pane, self.processes_pane = RanksPane(), GpusPane(), ProcessesPane()
        self.log_pane = LogPane()
        self.panes: tuple[Pane, ...] = (self.ranks_pane, self.gpus_pane, self.processes_pane, RayPane(), self.log_pane)
        self.active = "ranks"
        self.enlarged = False
        self._asking = self._jumps = self._keeping = False
        self._held: Divider | None = None
        self._carried: str | None = None
        self._filtered: LogPane | TablePane[Any] | None = None

    @property
    def layout(self) -> Layout:
        return self._placed

    def compose(self) -> ComposeResult:
        yield StatusLine(id="status")
        yield StageBar(id="stages")
        yield VerdictBand(id="verdict")
        yield Tabs(self.panes)
        yield from self.panes
        yield TroubleLine(id="trouble")
        yield Footer(id="footer")
        yield TooSmall(id="small")

    @property
    def selection(self) -> Selection:
        """What is chosen in the pane that was opened last, else the chosen rank."""
        pane = next((pane for pane in self.panes if pane.id == self.active), None)
        return (pane.selection if pane is not None else None) or Selection(self.ranks_pane.chosen)

    def on_mount(self) -> None:
        """Everything has its place before the first layout. The prompt comes after it: an input costs as much as all panes."""
        self.place(self.hangtop.view)
        self.call_after_refresh(self.add_prompt)

    async def add_prompt(self) -> None:
        """A fast `q` may have ended the screen by now, and then nothing can be added to it."""
        if self.is_attached:
            await self.mount(FilterPrompt())

    def open_pane(self, id_: str) -> None:
        """Focus a pane; again: maximise it; again: back."""
        if id_ in self.chosen.hidden:
            self.choose(replace(self.chosen, hidden=self.chosen.hidden - {id_}))
        focused = self.active == id_ and self.query_one(f"#{id_}").has_focus
        self.enlarged = focused and not self.enlarged
        self.active = id_
        self.show(self.hangtop.view)
        self.set_focus(self.query_one(f"#{id_}"), scroll_visible=False)  # at once: the next key may be there already

    def choose(self, chosen: PaneChoice) -> None:
        """Hide, order and size the panes so, and keep that for the project."""
        self.chosen = chosen
        self.enlarged = False
        self.active = "log" if self.active in chosen.hidden else self.active
        self.show(self.hangtop.view)
        if chosen.path is not None and not self._keeping:
            self._keeping = True
            self.run_worker(self._keep(chosen.path), name="panes", group="panes")

    def size_pane(self, id_: str, by: int) -> None:
        """So many lines more for this pane; one that has the whole screen has its size from that."""
        if self.enlarged:
            return
        self.choose(higher(self.chosen, id_, by, self._pane_places, self._heads))

    def divide(self, by: int) -> None:
        """Move the line between two panes that stand side by side by so many cells."""
        for place in self._pane_places.values():
            if (divider := divider_at(self._pane_places, place.right, place.y)) is not None and divider.upright:
                panes = self._pane_places
                self.choose(dragged(self.chosen, divider, panes, panes[divider.before[0]].right + by, place.y, self._heads))
                return

    def move_pane(self, id_: str, by: int) -> None:
        """This pane a place on, or back."""
        self.choose(self.chosen.moved(id_, by, [pane.id_ for pane in self.panes]))

    @property
    def _pane_places(self) -> dict[str, Region]:
        return {pane.id_: place for pane in self.panes if (place := self._placed.places.get(pane.id_)) is not None}

    @property
    def _heads(self) -> int:
        """Lines of an open pane that stand in the line of tabs."""
        return int("tabs" in self._placed.places)

    def on_mouse_down(self, event: MouseDown) -> None:
        """Take hold of the line between two panes, or of the head of one."""
        x, y = int(event.screen_x), int(event.screen_y)
        self._held = divider_at(self._pane_places, x, y)
        on_head = (id_ for id_, place in self._pane_places.items() if place.contains(x, y) and place.y == y)
        self._carried = None if self._heads or self.enlarged else next(on_head, None)

    def on_mouse_move(self, event: MouseMove) -> None:
        """Drag what is held. Textual calls the handler of the base class too, which tells what is under the mouse."""
        if self._held is not None and event.button:
            x, y = int(event.screen_x), int(event.screen_y)
            chosen = dragged(self.chosen, self._held, self._pane_places, x, y, self._heads)
            if chosen != self.chosen:
                self.chosen = chosen
                self.show(self.hangtop.view)

    def on_mouse_up(self, event: MouseUp) -> None:
        """What was sized is kept, and a pane that was dropped on another takes its place."""
        held, carried, self._held, self._carried = self._held, self._carried, None, None
        if held is not None:
            self.choose(self.chosen)
        x, y = int(event.screen_x), int(event.screen_y)
        onto = next((id_ for id_, place in self._pane_places.items() if place.contains(x, y)), None)
        if carried is not None and onto is not None and onto != carried:
            self.choose(self.chosen.put(carried, onto, [pane.id_ for pane in self.panes]))

    def told_at(self, x: int, y: int) -> str:
        if (divider := divider_at(self._pane_places, x, y)) is None:
            return super().told_at(x, y)
        return say("drag: the width of these panes" if divider.upright else "drag: the height of these panes")

    async def _keep(self, path: Path) -> None:
        """Once more where it was changed meanwhile: one process at a time writes it."""
        told = ""
        while told != self.chosen.text:
            told = self.chosen.text
            if problem := await written(path, told):
                self.log_pane.model.said = problem
                break
        self._keeping = False

    def open_log(self) -> None:
        """The keys act on the log from now on."""
        self.active = "log"
        self.show(self.hangtop.view)
        self.set_focus(self.log_pane, scroll_visible=False)

    def action_choose(self, by: int) -> None:
        """Arrows without a focus choose a rank."""
        self.open_pane("ranks")
        self.ranks_pane.action_choose(by)

    @property
    def in_sight(self) -> list[Pane]:
        """The panes that are not hidden, in their order."""
        by_id = {pane.id_: pane for pane in self.panes}
        return [by_id[id_] for id_ in self.chosen.in_order(by_id) if id_ not in self.chosen.hidden]

    def next_pane(self, by: int) -> None:
        ids = [pane.id_ for pane in self.in_sight if is_wide(*self.size) is False or pane.display or self.enlarged]
        at = ids.index(self.active) if self.active in ids else 0
        first = not any(pane.has_focus for pane in self.panes)
        self.enlarged = False
        self.open_pane(ids[at] if first else ids[(at + by) % len(ids)])

    def ask_filter(self, *, opened: bool) -> None:
        """Show or hide the line where a filter is typed: for processes or actors while they have the focus, else for the log."""
        prompt = next(iter(self.query(FilterPrompt)), None)
        if prompt is None:  # nothing is painted yet
            return
        opened = opened and not too_small(*self.app.size)
        self._asking, self._jumps = opened, False
        if opened:
            tables = (pane for pane in self.panes if isinstance(pane, TablePane))
            self._filtered = next((pane for pane in tables if pane.has_focus), self.log_pane)
            prompt.open(self._filtered.search, plain=self._filtered is not self.log_pane)
        self.show(self.hangtop.view)
        focus = prompt if opened else self._filtered if self._filtered and self.active == self._filtered.id else None
        self.set_focus(focus, scroll_visible=False)

    def ask_where(self) -> None:
        """Show the line where a place in the log is typed."""
        prompt = next(iter(self.query(FilterPrompt)), None)
        if prompt is None or too_small(*self.app.size):
            return
        self._asking, self._filtered, self._jumps = True, self.log_pane, True
        prompt.open(LogQuery(), plain=True, asks="120 (a step), 10:03, a stage, the id of a message, start, end")
        self.show(self.hangtop.view)
        self.set_focus(prompt, scroll_visible=False)

    def on_filter_prompt_typed(self, event: FilterPrompt.Typed) -> None:
        log = self.log_pane
        log.model.said = event.problem
        if event.problem:
            self.hangtop.repaint()
            return
        if self._jumps:
            self.ask_filter(opened=False)
            if event.pattern:
                self.open_log()
                log.go_to(event.pattern)
            return
        if event.pattern is not None and isinstance(self._filtered, TablePane):
            self._filtered.look_for(event.pattern)
        elif event.pattern is not None:
            self.active = "log"
            log.look_for(log.model.base_with(event.pattern, regex=event.regex))
        self.ask_filter(opened=False)

    def place(self, view: View) -> bool:
        places = self._places(view)
        if places == self._placed.places:
            return False
        self._placed.places = places
        for child in self.children:
            child.display = child.id in places
        for pane in self.panes:
            pane.headless = "tabs" in places and not (pane.id == "log" and self.active == "log")
        self.query_one(StatusLine).refresh(repaint=False, layout=True)  # from a child on, so that the screen arranges anew
        if self._asking and "prompt" not in places:  # keys must not go on into a line that nobody sees
            self.ask_filter(opened=False)
        return True

    def _places(self, view: View) -> dict[str, Region]:
        width, height = self.app.size
        if too_small(width, height):
            return {"small": Region(0, 0, width, height)}
        wants = {pane.id_: self._need(pane, view, width - 2) for pane in self.in_sight}
        lines = len(verdict_rows(view, width - 2, VERDICT_LINES if is_wide(width, height) else VERDICT_LINES - 1))
        told = len(troubles(view, width, height))
        places = arrange(
            width, height, lines, wants, active=self.active, maximised=self.enlarged, trouble=told, left=self.chosen.left
        )
        if self._asking and "footer" in places:
            places["prompt"] = places.pop("footer")
        return places

    def _need(self, pane: Pane, view: View, width: int) -> PaneNeed:
        if pane is self.log_pane:
            return PaneNeed(LEAST_LOG, wide=True)
        need, chosen = pane.want(view, width), self.chosen.lines.get(pane.id_)
        return need if chosen is None or need.lines == 1 else PaneNeed(chosen, need.wide, sized=True)
