"""What the app is to its panes, pages, dialogs and actions. They name this Protocol, never the app: imports run one way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from hangtop.feeds.probe_feed import Feed
from hangtop.feeds.replay import ReplayFeed
from hangtop.feeds.seen import Seen
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.processes.process_tree import ProcessKey
from hangtop.render.view import View
from hangtop.state.run_state import RunState
from hangtop.tui.keymap import Keymap
from hangtop.tui.keys import Key
from hangtop.tui.themes import Palette

if TYPE_CHECKING:
    from textual.screen import Screen

    from hangtop.tui.background_work import RunningAction
    from hangtop.tui.selection import Selection


class Shell(Protocol):
    """`HangtopApp` implements it; mypy verifies that where the app hands itself to an action. What Textual's own `App` offers is
    on `self.app`.

    `spec`: what is watched, as given on the command line. `feed`: gives readings, and takes questions to the probe. `replay`: the
    recording that plays, if any. `now`: unix seconds; in a replay the time of the recording. `state`: all that is known of the
    run; `view`: what of it is painted, with the verdict of the last tick. `keys`: what does something here: fewer when read-only,
    others in a replay; `footer_keys`: how the footer of the watch screen
    shows them. `keymap`: the keys that the person chose for commands. `palette`: the colours of the theme.
    `ascii`: the terminal shows no more. `read_only`: nothing may be stopped, cleaned or started. `under_way`: actions that were
    begun, by the name of their key's action. `on_bundle`: is told where a bundle was put. `seen`: the readings of this session,
    but of a replay. `questions`: what was asked in SQL, the newest last. `active`, `enlarged`: ids of the pane
    that the keys act on, and of the one that fills the screen. `selection`: what a key acts on: the subject of the page in front,
    else the choice in the active pane.
    """

    spec: WatchSpec
    feed: Feed
    replay: ReplayFeed | None
    now: Callable[[], float]
    state: RunState
    view: View
    keys: tuple[Key, ...]
    keymap: Keymap
    palette: Palette
    ascii: bool
    read_only: bool
    under_way: dict[str, RunningAction]
    on_bundle: Callable[[str], None]
    seen: Seen
    questions: list[str]
    active: str

    @property
    def footer_keys(self) -> tuple[Key, ...]: ...
    @property
    def enlarged(self) -> str | None: ...
    @property
    def selection(self) -> Selection: ...

    # What opens, moves and closes. `show_…` opens a page: `show_rank` in place of the one in front, while `show_line` closes that
    # one and moves the log. `action_…` is what the key of that name does.
    def repaint(self) -> None: ...
    def push_screen(self, screen: Screen[None]) -> Awaitable[None]: ...
    def choose_rank(self, rank: int) -> None: ...
    def hide_pane(self, id_: str) -> None: ...
    def choose_gpu(self, index: int) -> None: ...
    def show_rank(self, rank: int) -> None: ...
    def show_process(self, key: ProcessKey) -> None: ...
    def show_gpu(self, host: str, index: int) -> None: ...
    def show_actor(self, key: str) -> None: ...
    def show_line(self, file: int, offset: int) -> None: ...
    def action_detail(self) -> None: ...
    def action_verdict(self) -> None: ...
    def action_pane(self, id_: str) -> None: ...
    async def action_back(self) -> None: ...
    def action_leave(self) -> None: ...
