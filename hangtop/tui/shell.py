"""What the app is to its panes, pages, dialogs and actions. They name this Protocol, never the app: imports run one way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from hangtop.feeds.probe_feed import Feed
from hangtop.feeds.replay import ReplayFeed
from hangtop.records.watch_spec import WatchSpec
from hangtop.render.processes.process_tree import ProcessKey
from hangtop.render.view import View
from hangtop.state.run_state import RunState
from hangtop.tui.keys import Key
from hangtop.tui.themes import Palette

if TYPE_CHECKING:
    from textual.screen import Screen

    from hangtop.tui.running_action import RunningAction
    from hangtop.tui.selection import Selection


class Shell(Protocol):
    """`HangtopApp` implements it; mypy verifies that where the app hands itself to an action. What Textual's own `App` offers is
    on `self.app`."""

    spec: WatchSpec
    """What is watched, as given on the command line."""
    feed: Feed
    """Where readings come from, and where questions to the probe go."""
    replay: ReplayFeed | None
    """The recording that plays; `None` while a live run is watched."""
    now: Callable[[], float]
    """Unix seconds; in a replay the time of the recording."""
    state: RunState
    """All that is known of the run."""
    view: View
    """What is painted: the state and the verdict of the last tick."""
    keys: tuple[Key, ...]
    """The keys that do something here: fewer when read-only, others in a replay."""
    palette: Palette
    """The colours of the theme."""
    ascii: bool
    """True if the terminal shows ASCII only."""
    read_only: bool
    """True if nothing may be stopped, cleaned or started."""
    under_way: dict[str, RunningAction]
    """Actions that were begun, by the name of their key's action."""

    @property
    def footer_keys(self) -> tuple[Key, ...]:
        """The keys as the footer of the watch screen shows them."""

    @property
    def active(self) -> str:
        """Id of the pane that the keys act on."""

    @property
    def enlarged(self) -> str | None:
        """Id of the pane that fills the screen; `None` if none does."""

    @property
    def selection(self) -> Selection:
        """What a key acts on: the subject of the page in front, else the choice in the active pane."""

    def repaint(self) -> None:
        """Paint the present view on all screens in sight."""

    def push_screen(self, screen: Screen[None]) -> Awaitable[None]:
        """Open a page or a dialog over the screen in front."""

    def activate(self, pane: str) -> None:
        """Make this pane, by its id, the one that the keys act on."""

    def choose_rank(self, rank: int) -> None:
        """Choose this rank in the ranks pane."""

    def choose_gpu(self, index: int) -> None:
        """Choose this GPU in the GPU pane."""

    def show_rank(self, rank: int) -> None:
        """Open the page of this rank in place of the page in front."""

    def show_process(self, key: ProcessKey) -> None:
        """Open the page of this process."""

    def show_gpu(self, host: str, index: int) -> None:
        """Open the page of this GPU."""

    def show_actor(self, key: str) -> None:
        """Open the page of this Ray actor."""

    def show_line(self, file: int, offset: int) -> None:
        """Close the page in front and show this line in the log pane."""

    def action_detail(self) -> None:
        """Open the page of the chosen rank; without one, of the verdict."""

    def action_verdict(self) -> None:
        """Open the page of the verdict."""

    def action_pane(self, id_: str) -> None:
        """Focus this pane; a second time: enlarge it."""

    async def action_back(self) -> None:
        """One step back: page, filter, choice, enlarged pane, focus."""

    def action_leave(self) -> None:
        """End hangtop at once. The run goes on."""
