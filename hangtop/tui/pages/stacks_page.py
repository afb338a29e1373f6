"""The stacks of all ranks, folded into classes, odd ones first. They are taken when the page opens, and again by `s`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from hangtop.common.text import rank_ranges, some
from hangtop.diagnosis.facts.stack_pauses import pause
from hangtop.diagnosis.members.rank_table import join_ranks
from hangtop.diagnosis.members.remote_stacks import remote_stacks_ask, with_remote_stacks
from hangtop.diagnosis.snapshot import take_snapshot
from hangtop.monitor.questions import late, unanswered
from hangtop.records.ask import Ask, FlightAsk, RemoteStacksAsk, StacksAsk
from hangtop.render.collective_rows import collective_rows
from hangtop.render.log.log_query import LogQuery
from hangtop.render.rank_rows import odd_role
from hangtop.render.spans import Row, plain
from hangtop.render.stack_choice import StackChoice, choice
from hangtop.render.stack_rows import StackView, far_rows, rows, summary
from hangtop.render.view import View
from hangtop.stacks.stack_classes import each_thread
from hangtop.translations import say
from hangtop.tui.background_work import written
from hangtop.tui.bindings import bindings
from hangtop.tui.dialogs.question import QuestionScreen
from hangtop.tui.keys import PAGE_KEYS, STACKS_PAGE
from hangtop.tui.pages.page import PageFoot, PageScreen
from hangtop.tui.panes.log_pane import FilterPrompt

MOST_PIDS = 256
SAVED_CELLS = 200


class StacksScreen(PageScreen):
    """Taking stacks stops nothing. `v`, with the frames of C code, stops processes for a moment, and asks before."""

    CSS = "StacksScreen FilterPrompt { display: none; }"
    keys = (*STACKS_PAGE, *PAGE_KEYS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(STACKS_PAGE)

    def __init__(self) -> None:
        super().__init__()
        self._all_threads = self._unfolded = False
        self._asked: StacksAsk | None = None
        self._far_asked: RemoteStacksAsk | None = None
        self._asked_at = 0.0
        self._notice = self._typed = ""
        self._choice = StackChoice()

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield FilterPrompt()

    def on_mount(self) -> None:
        self.action_again()

    def head(self, view: View) -> Row:
        shown = self._view(view)
        words = self._notice or ("" if shown is None else summary(shown))
        chosen: Row = ((say(f"only {self._typed}"), "warn"), ("   ", "")) if self._typed else ()
        return (*chosen, (words or "stacks", "ink"))

    def rows(self, view: View, width: int) -> list[Row]:
        if why := self._why_not(view):
            return [((why, "ink"),)]
        shown = self._view(view)
        waits: list[Row] = [(words,) for words in self._on_their_way(view)]
        waits += far_rows(view.state.far_stacks, width, may_ask=self._may_send)
        found = [] if shown is None else rows(shown, width)
        if found and not self._typed:
            ranks = {rank.pid: rank.rank for rank in join_ranks(view.state) if rank.pid is not None}
            counted = collective_rows(view.state.nccl, ranks, width)
            found += [(), *counted[:-1]] if counted else []
        nothing: list[Row] = (
            [((say(f"No stack of {self._typed!r}: / and Enter shows all again."), "ink"),)] if self._typed else []
        )
        return [*waits, *(found or nothing)]

    def open(self) -> None:
        self._unfolded = not self._unfolded
        self.show(self.hangtop.view)

    def action_again(self) -> None:
        """Take the stacks again; the previous ones stay for comparison."""
        self._take({}, with_locals=False)

    def action_locals(self) -> None:
        """Read local variables too, once a person agrees: they are the run's own data."""
        if pids := self._pids():
            key = self.hangtop.keymap.shown("save")
            lines = (
                say(f"pid {rank_ranges(pids)}: {some(len(pids), 'process')}, read from memory. None is stopped."),
                say(f"Values may hold secrets; they are shown here, and {key} would save them."),
            )
            take = partial(self._take, {}, with_locals=True)
            self.app.push_screen(QuestionScreen.before(say("Local variables"), lines, say("Read them"), take))

    def action_native(self) -> None:
        """Read the frames of C code too, once a person agrees to the stop that it takes."""
        pids = self._pids()
        pausing = pause(self.hangtop.state.procs, pids)
        if not pids or not pausing.stop or not self._may_send:
            why = say("hangtop is --read-only" if pids and not self._may_send else "; ".join(pausing.spared))
            self._say(say(f"no process is stopped: {why or 'no process of this run is known on this machine'}"))
            return
        lines = (
            say(f"This {pausing.said}."),
            *pausing.spared,
            say("py-spy reads frames of C code only while a process is stopped. The run goes on after that."),
        )
        take = partial(self._take, pausing.stop, with_locals=False)
        self.app.push_screen(QuestionScreen.before(say("Frames of C code"), lines, say("Stop and look"), take))

    def _pids(self) -> tuple[int, ...]:
        app = self.hangtop
        return () if app.replay is not None else take_snapshot(app.state, app.spec, app.now()).pids[:MOST_PIDS]

    def _take(self, stop: dict[int, int], *, with_locals: bool) -> None:
        app, pids = self.hangtop, self._pids()
        if pids:
            number = int(app.now() * 1000)
            if self._may_send:  # it writes a byte into the run's own FIFO
                app.feed.ask(FlightAsk(number, pids))
            self._asked, self._asked_at, self._notice = StacksAsk(number, pids, stop, with_locals), app.now(), ""
            app.feed.ask(self._asked)
        self._ask_far(task=False)
        self.show(app.view)

    def action_far_task(self) -> None:
        """Read stacks by a task in the person's cluster: only this key does it, after the page has offered it."""
        far = self.hangtop.view.state.far_stacks
        if self._may_send and far is not None and far.done and any(stack.problem for stack in far.stacks):
            self._ask_far(task=True)
            self.show(self.hangtop.view)

    @property
    def _may_send(self) -> bool:
        return self.hangtop.replay is None and not self.hangtop.read_only

    def _ask_far(self, *, task: bool) -> None:
        """Ask for the stacks of workers on other nodes, if there are any."""
        app = self.hangtop
        if app.replay is None and (ask := remote_stacks_ask(app.state, int(app.now() * 1000), task=task)) is not None:
            self._far_asked = ask
            app.feed.ask(ask)

    def action_threads(self) -> None:
        self._all_threads = not self._all_threads
        self.show(self.hangtop.view)

    def action_copy(self) -> None:
        """Copy as plain text to the terminal's clipboard (OSC 52, which not every terminal takes)."""
        lines = self._plain()
        self.app.copy_to_clipboard("\n".join(lines))
        key = self.hangtop.keymap.shown("save")
        self._say(say(f"{some(len(lines), 'line')} copied, if this terminal permits it: {key} writes them into a file"))

    async def action_save(self) -> None:
        """Save to a file in the working directory, readable by its owner only: stacks may hold secrets."""
        lines, stamp = self._plain(), time.strftime("%Y%m%d-%H%M%S", time.localtime(self.hangtop.now()))
        path = Path.cwd() / f"hangtop-stacks-{stamp}.txt"
        problem = await written(path, "\n".join(lines) + "\n")
        self._say(problem or say(f"{some(len(lines), 'line')} saved to {path}"))

    def ask_filter(self, *, opened: bool) -> None:
        prompt, foot = self.query_one(FilterPrompt), self.query_one(PageFoot)
        prompt.display, foot.display = opened, not opened
        if opened:
            prompt.open(LogQuery(self._typed or None), plain=True)
            prompt.placeholder = say("ranks (0-2,5), thread:NAME, or a function; empty: all")
        self.set_focus(prompt if opened else self.body, scroll_visible=False)
        self.show(self.hangtop.view)

    def on_filter_prompt_typed(self, event: FilterPrompt.Typed) -> None:
        if event.pattern is not None:
            self._typed = event.pattern.strip()
            self._choice, self.body.top = choice(self._typed), 0
        self.ask_filter(opened=False)

    def _say(self, words: str) -> None:
        self._notice = words
        self.show(self.hangtop.view)

    def _plain(self) -> list[str]:
        view = self.hangtop.view
        shown = self._view(view)
        first = [] if shown is None else [f"{view.title}   {summary(shown)}", ""]
        return [*first, *(plain(row) for row in self.rows(view, SAVED_CELLS))]

    def _view(self, view: View) -> StackView | None:
        looks = view.state.looks
        if len(looks) > 1 and not (looks[-1].done or looks[-1].problem):
            looks = looks[:-1]  # until the new look is whole
        looks, found = with_remote_stacks(view.state, looks)
        if not looks:
            return None
        stacks = self._choice.of(found)
        apart = frozenset(view.verdict.apart if view.verdict else ())
        shown = each_thread(stacks) if self._all_threads else stacks
        unfolded = frozenset(range(len(shown))) if self._unfolded else frozenset()
        return StackView(looks, shown, apart, odd_role(view.verdict), unfolded, view.state.node_names)

    def _on_their_way(self, view: View) -> Iterator[tuple[str, str]]:
        """What was asked for and is not there: it comes, it is late, or why it does not come."""
        state, asked = view.state, self._asked
        if asked is not None and not any(look.ask == asked.ask and (look.done or look.problem) for look in state.looks):
            yield self._waits_for(view, asked) or (say("Taking the stacks …"), "muted")
        far = self._far_asked
        answered = far is None or (state.far_stacks is not None and state.far_stacks.ask == far.ask)
        if far is not None and not answered and (words := self._waits_for(view, far)) is not None:
            yield words

    def _waits_for(self, view: View, ask: Ask) -> tuple[str, str] | None:
        if (why := unanswered(view.state, ask)) is not None:
            return (say(f"No stacks: {why}"), "warn")
        why = late(view.state, ask, view.now - self._asked_at)
        return None if why is None else (say(f"Taking the stacks: {why}"), "warn")

    def _why_not(self, view: View) -> str:
        """Why there are no stacks; empty if there can be."""
        if view.state.looks or view.state.far_stacks is not None or self._far_asked is not None:
            return ""
        health = view.state.health.get("stacks")
        if health is not None and (why := health.problem or health.absent):
            return say(f"No stacks: {why}")
        if self.hangtop.replay is not None:
            return say("No stacks were taken until this moment of the recording.")
        if "stacks" not in view.spec.sources:
            return say("No stacks: --sources leaves them out.")
        if self._asked is None:
            return say("No process of this run is known on this machine: give --pid, or run hangtop there.")
        return ""
