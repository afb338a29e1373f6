"""Where keys lead: to a pane, to a page, to a line of the log, and back."""

from __future__ import annotations

from abc import abstractmethod

from msgspec.structs import replace
from textual.app import App

from hangtop.render.log.log_query import LogQuery
from hangtop.render.processes.process_tree import ProcessKey
from hangtop.render.view import View
from hangtop.tui.live_screen import LiveScreen
from hangtop.tui.pages.watch_page import WatchScreen
from hangtop.tui.selection import Selection


class Navigation(App[None]):
    """The part of the app that opens and closes pages over `watch_screen`."""

    watch_screen: WatchScreen
    compared: tuple[str, str] | None
    view: View

    @abstractmethod
    def repaint(self) -> None:
        """Paint the present view."""

    @property
    def active(self) -> str:
        return self.watch_screen.active

    @active.setter
    def active(self, pane: str) -> None:
        self.watch_screen.active = pane

    @property
    def selection(self) -> Selection:
        front = self.screen
        return (front.selection if isinstance(front, LiveScreen) else None) or self.watch_screen.selection

    def action_pane(self, id_: str) -> None:
        if self.screen is self.watch_screen:
            self.watch_screen.open_pane(id_)

    def action_next_pane(self, by: int = 1) -> None:
        self.watch_screen.next_pane(by)

    def action_verdict(self) -> None:
        from hangtop.tui.pages.verdict_page import VerdictScreen

        if self.screen is self.watch_screen:
            self.push_screen(VerdictScreen())

    def action_detail(self) -> None:
        from hangtop.tui.pages.rank_page import RankScreen
        from hangtop.tui.pages.verdict_page import VerdictScreen

        if self.screen is not self.watch_screen:
            return
        chosen = self.watch_screen.ranks_pane.chosen
        self.push_screen(VerdictScreen() if chosen is None or self.active == "log" else RankScreen(chosen))

    def action_side_by_side(self) -> None:
        """The chosen rank beside the others; without one the rank to look at first."""
        from hangtop.render.pair.pair import most_apart
        from hangtop.tui.pages.pair_page import PairScreen

        rank = self.selection.rank if self.selection.rank is not None else most_apart(self.view)
        if rank is not None and not isinstance(self.screen, PairScreen):
            self.push_screen(PairScreen(rank))

    def action_ask(self) -> None:
        """The line for a question in SQL, on its page."""
        from hangtop.tui.pages.query_page import QueryScreen

        if isinstance(self.screen, QueryScreen):
            self.screen.edit()
        else:
            self.push_screen(QueryScreen())

    def action_timeline(self) -> None:
        from hangtop.tui.pages.timeline_page import TimelineScreen

        if not isinstance(self.screen, TimelineScreen):
            self.push_screen(TimelineScreen())

    def action_charts(self) -> None:
        from hangtop.tui.pages.charts_page import ChartsScreen

        if not isinstance(self.screen, ChartsScreen):
            self.push_screen(ChartsScreen(self.compared[0] if self.compared else ""))

    def action_compare(self) -> None:
        """Where the run left a good one."""
        from hangtop.tui.pages.diff_page import DiffScreen

        if not isinstance(self.screen, DiffScreen):
            self.push_screen(DiffScreen(*(self.compared or ())))

    async def action_back(self) -> None:
        watch = self.watch_screen
        if self.screen is not watch:
            self.pop_screen()
        elif watch.log_pane.model.base.filtered:
            watch.log_pane.look_for(LogQuery(file=watch.log_pane.model.base.file))
        elif not watch.ranks_pane.unchoose():
            watch.enlarged = False
            watch.set_focus(None)
        self.repaint()

    def action_filter(self) -> None:
        if isinstance(self.screen, LiveScreen):
            self.screen.ask_filter(opened=True)

    def action_jump(self) -> None:
        if self.screen is self.watch_screen:
            self.watch_screen.ask_where()

    def action_search(self, direction: int) -> None:
        self.watch_screen.log_pane.find(direction)

    def action_errors(self) -> None:
        log = self.watch_screen.log_pane
        base = log.model.base
        log.look_for(LogQuery(base.pattern, base.regex, not base.notable, base.file))

    def action_follow(self) -> None:
        self.watch_screen.log_pane.follow()

    def action_file(self, by: int) -> None:
        self.watch_screen.log_pane.choose_file(by)

    def choose_rank(self, rank: int) -> None:
        self.watch_screen.ranks_pane.chosen = rank

    def hide_pane(self, id_: str) -> None:
        """Out of sight in this project, until its key is pressed; the log always stays."""
        if id_ != "log":
            chosen = self.watch_screen.chosen
            self.watch_screen.choose(replace(chosen, hidden=chosen.hidden | {id_}))
            self.watch_screen.set_focus(None)

    def choose_gpu(self, index: int) -> None:
        self.watch_screen.gpus_pane.chosen = index

    def show_rank(self, rank: int) -> None:
        from hangtop.tui.pages.rank_page import RankScreen

        self.pop_screen()
        self.choose_rank(rank)
        self.push_screen(RankScreen(rank))

    def show_process(self, key: ProcessKey) -> None:
        from hangtop.tui.pages.process_page import ProcessScreen

        self.push_screen(ProcessScreen(key))

    def show_gpu(self, host: str, index: int) -> None:
        from hangtop.tui.pages.gpu_page import GpuScreen

        self.push_screen(GpuScreen(host, index))

    def show_actor(self, key: str) -> None:
        from hangtop.tui.pages.actor_page import ActorScreen

        self.push_screen(ActorScreen(key))

    def show_line(self, file: int, offset: int) -> None:
        self.pop_screen()
        self.watch_screen.active = "log"
        self.watch_screen.log_pane.jump((file, offset))
