"""Every key, once: bindings, footer and help are made from this table; it takes actions from `hangtop.actions.registry`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from textual.binding import Binding, BindingType

from hangtop.actions.registry import ACTIONS


class Key(Struct, frozen=True):
    """`keys`: as Textual names them. `shown`: as a person reads it. `word`: in the footer (empty: not there), `role`: its colour.

    `dangerous`: gone in read-only mode. `live`: gone in a replay, whose run is not here. `bubbles`: what has the focus may
    take the key first; other keys act at once, in the order of a burst, for over a slow line `/loss` comes in one packet.
    """

    keys: str
    shown: str
    action: str
    word: str
    help: str
    dangerous: bool = False
    live: bool = False
    bubbles: bool = False
    role: str = "muted"


LOOK: tuple[Key, ...] = (
    Key("1", "1", "verdict", "", "the verdict in full, with causes and fixes"),
    Key("", "2 … 6", "", "", "focus a pane, again: maximise"),
    Key("tab", "Tab", "next_pane", "", "next pane", bubbles=True),
    Key("up,down", "↑ ↓", "", "", "choose a row, scroll the log"),
    Key("enter", "Enter", "detail", "", "detail of the row, or of the finding", bubbles=True),
    Key("escape", "Esc", "back", "", "back", bubbles=True),
    Key("slash", "/", "filter", "filter", "filter the log by text, Tab: by regex"),
    Key("n", "n", "search(1)", "", "next line with that text"),
    Key("N", "N", "search(-1)", "", "previous line with that text"),
    Key("e", "e", "errors", "errors", "errors and stage lines only"),
    Key("f", "f", "follow", "follow", "follow the log"),
    Key("left_square_bracket", "[", "file(-1)", "", "log of the file before"),
    Key("right_square_bracket", "]", "file(1)", "", "log of the next file"),
    Key("t", "t", "theme", "theme", "theme"),
    Key("question_mark", "?", "help", "help", "this help"),
    Key("ctrl+z", "Ctrl-Z", "suspend_process", "", "to the shell; fg comes back"),
    Key("q", "q", "quit", "quit", "quit, at once"),
)

IN_A_PANE: tuple[Key, ...] = (
    Key("", "PgUp PgDn", "", "", "ten rows, or a page of the log"),
    Key("", "Home End", "", "", "first and last row; start and end of the log"),
    Key("", "← →", "", "", "fold and unfold; the log: to the left and right"),
    Key("", "Space", "", "", "fold or unfold; the log: a page on"),
    Key("", "o", "", "", "another order (processes, actors)"),
    Key("", "a", "", "", "all training processes; of Ray its nodes"),
    Key("", "y", "", "", "copy, on a page: a fix, the stacks"),
)
"""Bound where they have a meaning: by panes and pages."""

REPLAY: tuple[Key, ...] = (
    Key("p", "p", "pause", "pause", "pause or go on"),
    Key("less_than_sign,comma", "<", "seek(-30)", "back 30 s", "30 s back"),
    Key("greater_than_sign,full_stop", ">", "seek(30)", "on 30 s", "30 s on"),
)
"""Only while a recording plays."""

TEXTUAL_NAMES = {"!": "exclamation_mark"}

ACT: tuple[Key, ...] = (
    Key("s", "s", "act('stacks')", "stacks", "stacks of all ranks, taken again"),
    Key("b", "b", "act('bundle')", "bundle", "bundle the evidence for a bug report", live=True),
    *(
        Key(TEXTUAL_NAMES.get(do.key, do.key), do.key, f"act('{do.name}')", do.word, do.help, dangerous=True, live=True)
        for do in ACTIONS
        if do.key
    ),
)
"""Evidence of the run, and what a person can do to it. `hangtop.tui.open_action` opens what a key stands for."""

NEVER_DROPPED = ("Esc", "?", "q")
DROPPED_FIRST = ("t", "f", "!", "R", "c", "r")
DROPPED_FIRST_WHEN_OVER = ("t", "f", "!", "R", "k", "s", "r")
"""What leaves a narrow footer first, in this order; then the others from the end."""


def actions(*, read_only: bool, replay: bool) -> tuple[Key, ...]:
    return tuple(key for key in ACT if not ((read_only and key.dangerous) or (replay and key.live)))


def bound_keys(panes: Iterable[tuple[str, str, str]]) -> list[BindingType]:
    """Bindings of every key, and of the key of each pane (key, id, title). Actions bubble, so that a page may use their keys."""
    table = [*((key, key.bubbles) for key in (*LOOK, *REPLAY)), *((key, True) for key in ACT)]
    keys = [Binding(k.keys, k.action, k.help, show=False, priority=not bubbles) for k, bubbles in table if k.keys and k.action]
    digits = [Binding(key, f"pane('{id_}')", title, show=False, priority=True) for key, id_, title in panes]
    return [*keys, *digits, Binding("ctrl+c,ctrl+q", "leave", "quit", show=False, priority=True)]


def action_names(keys: Iterable[Key]) -> frozenset[str]:
    return frozenset(key.action.partition("(")[0] for key in keys if key.action)


def all_keys(*, read_only: bool, replay: bool) -> tuple[Key, ...]:
    """What can be pressed now, in the order of the footer."""
    return (*actions(read_only=read_only, replay=replay), *(REPLAY if replay else ()), *LOOK)


def word_of(shown: str) -> str | None:
    """What a key is called, `None` for a key that does nothing (yet)."""
    return next((key.help for key in (*ACT, *LOOK) if key.shown == shown), None)
