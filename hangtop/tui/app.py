"""HangtopApp: readings in, keys out. It never waits for anything; what may block is in the probe."""

from __future__ import annotations

import asyncio
import locale
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual.binding import BindingType
from textual.screen import ModalScreen, Screen

from hangtop.common import clock
from hangtop.common.text import ascii_only, printable, speaks_utf8
from hangtop.diagnosis.snapshot import Snapshot
from hangtop.feeds.probe_feed import Feed
from hangtop.feeds.replay import ReplayFeed
from hangtop.feeds.seen import Seen
from hangtop.monitor.headless import REGULAR, StackRequester
from hangtop.monitor.monitor import Looker, Monitor
from hangtop.records.advice import Advice
from hangtop.records.ask import AskEnd
from hangtop.records.log import PageReading
from hangtop.records.reading import Value
from hangtop.records.verdict import Subscriber, Verdict
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.view import CALM, View
from hangtop.state.run_state import RunState, fold
from hangtop.translations import say
from hangtop.tui.bindings import bound_keys
from hangtop.tui.keymap import USUAL_KEYS, Keymap
from hangtop.tui.keys import LOOK, REPLAY, Key, all_keys, word_of
from hangtop.tui.live_screen import LiveScreen
from hangtop.tui.navigation import Navigation
from hangtop.tui.pages.watch_page import NO_CHOICE, PANES, WatchScreen
from hangtop.tui.pane_choice import PaneChoice
from hangtop.tui.panes.status_line import terminal_title
from hangtop.tui.themes import load_palettes, pick_palette
from hangtop.tui.widgets.row_widget import RowWidget
from hangtop.tui.widgets.terminal_driver import driver_class

if TYPE_CHECKING:
    from hangtop.tui.background_work import RunningAction

TICK_S = 1.0
PAINT_S = 0.25
"""Readings come up to ten times a second; the screen follows at most four times, and at once after a pause."""
SOON_S = 0.01
"""Readings that come together are painted together."""
LOAD_S = 3.0
"""By then the first picture is painted, and the pages and dialogs are loaded."""
SAVE_TITLE, RESTORE_TITLE = "\x1b[22;0t", "\x1b[23;0t"


class HangtopApp(Navigation):
    """Watches one run. Raises `ThemeError` if the theme asked for is missing or broken; other broken themes are left out, and
    named in `broken_themes`.

    `now`: unix seconds, the time of the recording in a replay. `title`: names the run on the screen and in the terminal's title.
    `started`: hangtop started the run, so `q` asks what becomes of it. `ascii_only`: by default if the locale has no UTF-8.
    `keymap`: the keys that the person chose for commands. `panes`: which ones they have hidden. `compared`: a good and a bad run,
    whose differences come first. `subscribers`, `lookers`: of the monitor. `on_bundle`: is told the path of each
    bundle.
    """

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bound_keys((pane.id_, pane.title) for pane in PANES)

    def __init__(
        self,
        spec: WatchSpec,
        feed: Feed,
        *,
        now: Callable[[], float] = clock.now,
        calm: bool = False,
        theme: str | None = None,
        read_only: bool = False,
        title: str | None = None,
        ascii_only: bool | None = None,
        started: bool = False,
        compared: tuple[str, str] | None = None,
        keymap: Keymap = USUAL_KEYS,
        panes: PaneChoice = NO_CHOICE,
        subscribers: Iterable[Subscriber] = (),
        lookers: Iterable[Looker] = (),
        on_bundle: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.broken_themes: list[str] = []
        self.palettes = load_palettes(spec.config_dir, self.broken_themes.append)
        no_color = "NO_COLOR" in os.environ
        self.palette = pick_palette(self.palettes, theme, no_color=no_color, broken=self.broken_themes)
        super().__init__(driver_class=driver_class(), ansi_color=True if no_color else None)
        for palette in self.palettes.values():
            self.register_theme(palette.theme())
        self.theme = self.palette.name
        self.spec, self.feed, self.now, self.read_only, self.started = spec, feed, now, read_only, started
        self.on_bundle, self.compared = on_bundle, compared
        utf8 = speaks_utf8(os.environ, locale.getpreferredencoding(False))
        self.ascii = not utf8 if ascii_only is None else ascii_only
        self.replay = feed if isinstance(feed, ReplayFeed) else None
        self.keymap = keymap
        self.set_keymap(keymap.for_textual)
        self.keys = all_keys(read_only=read_only, replay=self.replay is not None)
        self.curiosity = StackRequester(feed)
        self.monitor = Monitor(spec, subscribers, lookers)
        self.run_title = title or _title_of(spec)
        self.state = RunState()
        calm = calm or self.animation_level == "none"
        self.view = View(self.state, None, spec, now(), self.run_title, CALM, calm)
        self._disable_tooltips = self._disable_notifications = True  # for which each screen would mount two widgets
        self.watch_screen = WatchScreen(panes)
        self.under_way: dict[str, RunningAction] = {}
        self.seen = Seen(spec, now())
        self.questions: list[str] = []
        self._due = False
        self._painted_at = 0.0
        self._met: set[type[Value]] = set()
        self._title_shown = ""

    @property
    def footer_keys(self) -> tuple[Key, ...]:
        """The keys for the footer; the key of a running action says so."""
        progress = {f"act('{act}')": "done" if deed.over else "at work" for act, deed in self.under_way.items()}
        return tuple(
            replace(key, word=f"{key.word}: {progress[key.action]}", role="warn bold") if key.action in progress else key
            for key in self.keys
        )

    @property
    def enlarged(self) -> str | None:
        return self.watch_screen.active if self.watch_screen.enlarged else None

    def get_default_screen(self) -> Screen[None]:
        """The watch screen; mounting an empty default screen below it would cost time."""
        return self.watch_screen

    def refresh_css(self, animate: bool = True) -> None:
        """Before the first screen only colours are set: Textual would parse all CSS once more."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def on_mount(self) -> None:
        self._to_terminal(SAVE_TITLE)
        self.app_resume_signal.subscribe(self, lambda _: self._come_back())
        self.set_interval(TICK_S, self.tick)
        self.set_timer(LOAD_S, partial(_load_what_opens, self.spec.config_dir))
        self.run_worker(self._follow(), name="follow", exclusive=True)
        if self.compared is not None:
            self.action_compare()

    def _come_back(self) -> None:
        """After Ctrl-Z and `fg` the terminal has forgotten everything."""
        self._title_shown = ""
        self.screen.refresh(layout=True)

    def on_unmount(self) -> None:
        self.feed.close()
        self._to_terminal(RESTORE_TITLE)

    def tick(self) -> None:
        """Judge the state, and paint."""
        now = self.now()
        read = self.state.log is not None and self.state.log.caught_up  # before, stages and limits are not known: a draft
        case = self.monitor.look(self.state, now, draft=not read)
        verdict = self.monitor.verdict
        self.curiosity.follow(case)
        if read:
            self.curiosity.look_back(verdict, now)
        shown = None if self.state.log is None and verdict.word == "running" else self._doable(verdict)
        alarm = self.view.alarm.next(shown if read else None, now)
        if alarm.rings > self.view.alarm.rings and not self.view.calm:
            self.bell()
        past = self.monitor.timeline.entries
        told = () if shown is None or not shown.advised else _advice(case, shown, self.keymap)
        self.view = View(self.state, shown, self.spec, now, self.run_title, alarm, self.view.calm, past, told)
        self._tell_title()
        if self.watch_screen.is_running:
            self.watch_screen.log_pane.model.refresh_regex()
        self.repaint()
        for screen in self._in_sight():
            screen.flush()

    def _doable(self, verdict: Verdict) -> Verdict:
        """Leave out next steps whose key does nothing here (read-only, replay)."""
        there = {key.shown for key in self.keys}
        return replace(verdict, next=tuple(step for step in verdict.next if step[0] in there or word_of(step[0]) is None))

    def repaint(self) -> None:
        """Paint the present view on all screens in sight."""
        for screen in self._in_sight():
            screen.show(self.view)

    def _in_sight(self) -> Iterator[LiveScreen]:
        """The screen in front, and the screens around it if it is a dialog."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, LiveScreen):
                yield screen
            if not isinstance(screen, ModalScreen):
                return

    async def _follow(self) -> None:
        async for reading in self.feed.readings():
            first = self.state.log is None
            self.state = fold(self.state, reading)
            if self.replay is None:
                self.seen.keep(reading)
            match reading.value:
                case PageReading() as page if self.watch_screen.is_running:
                    self.watch_screen.log_pane.take_page(page)
                    self.repaint()
                case AskEnd(kind="page", problem=problem) as end if self.watch_screen.is_running:
                    page = PageReading(end.ask, problem=problem or say("the log had nothing to tell"))
                    self.watch_screen.log_pane.take_page(page)  # which takes it for no more than a search that is not over
                    self.repaint()
            if first and self.state.log is not None:
                self.tick()
            elif not self._due and type(reading.value) not in REGULAR & self._met:
                self._due = True
                self.set_timer(max(SOON_S, self._painted_at + PAINT_S - monotonic()), self._paint_due)
            self._met.add(type(reading.value))
            await asyncio.sleep(0)  # a burst of readings must not hold up keys

    def _paint_due(self) -> None:
        self._due, self._painted_at = False, monotonic()
        self.tick()

    def _tell_title(self) -> None:
        title, plain = terminal_title(self.view), ascii_only if self.ascii else printable
        if title != self._title_shown:
            self._title_shown = title
            self._to_terminal(f"\x1b]0;{plain(title)}\x07")

    def _to_terminal(self, codes: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(codes)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Which keys work: none in a dialog, which reads keys itself; letters are text while a filter is typed."""
        if isinstance(self.screen, ModalScreen):
            return False
        if isinstance(self.screen, LiveScreen) and self.screen.typing:
            letters = {key.action.partition("(")[0] for key in (*LOOK, *REPLAY)}
            return action not in letters and action not in ("pane", "act")
        return action != "act" or any(key.action == f"act('{parameters[0]}')" for key in self.keys)

    def action_act(self, name: str) -> None:
        """Open the plan or page of an action, or its progress if it is under way."""
        from hangtop.tui.dialogs.action_dialog import ActionScreen
        from hangtop.tui.open_action import open_action

        if (deed := self.under_way.get(name)) is not None:
            self.push_screen(ActionScreen.of(deed))
        else:
            open_action(self, name)

    async def action_quit(self) -> None:
        if self.started:
            from hangtop.actions.plans.restart_plan import may_live
            from hangtop.tui.open_action import QuitScreen

            if may_live(self.state):
                self.push_screen(QuitScreen(self))
                return
        self.action_leave()

    def action_leave(self) -> None:
        """End at once, even if the feed is stuck."""
        self.feed.close()
        self.exit()

    def action_help(self) -> None:
        from hangtop.tui.pages.help_page import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())

    def action_palette(self) -> None:
        """Every command, found by its words."""
        from hangtop.tui.dialogs.palette import palette

        self.push_screen(palette())

    def action_theme(self) -> None:
        """The next theme; with NO_COLOR only ANSI themes."""
        names = [name for name, palette in self.palettes.items() if not self.no_color or palette.ansi]
        self.palette = self.palettes[names[(names.index(self.palette.name) + 1) % len(names)]]
        self.theme = self.palette.name
        for screen in self.screen_stack:
            for part in screen.query(RowWidget):
                part.forget()
        self.repaint()

    def action_pause(self) -> None:
        if self.replay is not None:
            self.replay.toggle_pause()

    def action_seek(self, by_s: int) -> None:
        if self.replay is not None:
            self.replay.seek(self.now() + by_s)


def _advice(case: Snapshot, verdict: Verdict, keymap: Keymap) -> tuple[Advice, ...]:
    """Why it stands and what to do, with the keys of the person. The first paint does without its catalogue."""
    from hangtop.remedies.advise import advice

    told = advice(case, verdict, case.spec.config_dir)
    if not keymap.chosen:
        return told
    return tuple(replace(each, remedy=keymap.in_words(say(each.words)) + each.remedy.removeprefix(each.words)) for each in told)


def _load_what_opens(config_dir: str | None) -> None:
    """Load pages, dialogs and places in advance: they open at once, an upgrade of hangtop meanwhile cannot mix versions, and no
    file is read in a moment in which its disk may be what hangs."""
    from importlib import import_module
    from pkgutil import iter_modules

    from hangtop.tui import dialogs, pages

    for package in (pages, dialogs):
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    import_module("hangtop.tui.open_action")
    import_module("hangtop.remedies.catalogue").usable_places(config_dir)
    import_module("hangtop.remedies.advise")
    import_module("hangtop.remedies.harmless").forms()


def _title_of(spec: WatchSpec) -> str:
    names = [path if path == "-" else Path(path).name or path for path in spec.logs]
    return (
        "stdin"
        if names == ["-"]
        else ", ".join(names[:3]) + (say(f" and {len(names) - 3} more" if len(names) > 3 else "")) or "run"
    )
