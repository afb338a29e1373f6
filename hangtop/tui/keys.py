"""Every key, once: bindings, footer and help are made from these tables. A key that does something is an entry here and a method
`action_…` of the app or of its page; what changes the run is an entry in `hangtop.actions.registry`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace
from textual.binding import Binding, BindingType

from hangtop.actions.registry import ACTIONS


class Key(Struct, frozen=True):
    """`keys`: as Textual names them. `shown`: as a person reads it. `action`: what it calls; empty where the focused pane or page
    binds it. `word`: in the footer, empty if not there; `role`: its colour. `help`: on the help page.

    `dangerous`: changes the run, so not there when read-only or in a replay. `live`: not in a replay. `bubbles`: the focused
    widget may take the key first; other keys act at once and in order, for over a slow line `/loss` comes in one packet.
    """

    keys: str = ""
    shown: str = ""
    action: str = ""
    word: str = ""
    help: str = ""
    dangerous: bool = False
    live: bool = False
    bubbles: bool = False
    role: str = "muted"


LOOK: tuple[Key, ...] = (
    Key("1", "1", "verdict", "", "the verdict in full, with causes and fixes"),
    Key(shown="2 … 6", help="focus a pane, again: maximise"),
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
    Key("ctrl+p", "Ctrl-P", "palette", "", "all commands, found by their words"),
    Key("ctrl+z", "Ctrl-Z", "suspend_process", "", "to the shell; fg comes back"),
    Key("q", "q", "quit", "quit", "quit, at once"),
)

IN_A_PANE: tuple[Key, ...] = (
    Key(shown="PgUp PgDn", help="ten rows, or a page of the log"),
    Key(shown="Home End", help="first and last row; start and end of the log"),
    Key(shown="← →", help="fold and unfold; the log: to the left and right"),
    Key(shown="Space", help="fold or unfold; the log: a page on"),
    Key(shown="o", help="another order (processes, actors)"),
    Key(shown="a", help="all training processes; of Ray its nodes"),
    Key(shown="y", help="copy, on a page: a fix, the stacks"),
    Key(shown="i", help="the verdict's page: run what tells the cause; a process's: look inside"),
)
"""For the help page: the panes and pages bind them."""

REPLAY: tuple[Key, ...] = (
    Key("p", "p", "pause", "pause", "pause or go on"),
    Key("less_than_sign,comma", "<", "seek(-30)", "back 30 s", "30 s back"),
    Key("greater_than_sign,full_stop", ">", "seek(30)", "on 30 s", "30 s on"),
)
"""Only in a replay."""

TEXTUAL_NAMES = {"!": "exclamation_mark"}

ACT: tuple[Key, ...] = (
    Key("s", "s", "act('stacks')", "stacks", "stacks of all ranks, taken again"),
    Key("b", "b", "act('bundle')", "bundle", "bundle the evidence for a bug report", live=True),
    *(
        Key(TEXTUAL_NAMES.get(do.key, do.key), do.key, f"act('{do.name}')", do.word, do.help, dangerous=True)
        for do in ACTIONS
        if do.key
    ),
)
"""Evidence of the run, and what a person can do to it: `hangtop.tui.open_action` opens it."""

NEVER_DROPPED = ("Esc", "?", "q")
DROPPED_FIRST = ("t", "f", "!", "R", "c", "r")
DROPPED_FIRST_WHEN_OVER = ("t", "f", "!", "R", "k", "s", "r")
DROPPED_FIRST_WHEN_IT_STANDS = ("t", "f", "e", "/", "c", "R")
"""The order in which a narrow footer drops keys; then the others from the end. Of a run that stands it keeps stacks, bundle,
stop, restart and recover."""


PAGE_KEYS = tuple(replace(key, word=key.word or key.help) for key in LOOK if key.shown in (*NEVER_DROPPED, "t"))
"""In the footer of every page."""


def bindings(keys: Iterable[Key]) -> list[BindingType]:
    """What binds the keys of a page to its actions."""
    return [Binding(key.keys, key.action, key.word) for key in keys if key.action]


def bound_keys(panes: Iterable[tuple[str, str, str]]) -> list[BindingType]:
    """Bindings of every key, and of each pane's (key, id, title). Keys of `ACT` bubble, so that a page may use them itself."""
    table = [*((key, key.bubbles) for key in (*LOOK, *REPLAY)), *((key, True) for key in ACT)]
    keys = [Binding(k.keys, k.action, k.help, show=False, priority=not bubbles) for k, bubbles in table if k.keys and k.action]
    digits = [Binding(key, f"pane('{id_}')", title, show=False, priority=True) for key, id_, title in panes]
    return [*keys, *digits, Binding("ctrl+c,ctrl+q", "leave", "quit", show=False, priority=True)]


def all_keys(*, read_only: bool, replay: bool) -> tuple[Key, ...]:
    """The keys that do something, in the order of the footer."""
    acts = (key for key in ACT if not ((read_only and key.dangerous) or (replay and (key.dangerous or key.live))))
    return (*acts, *(REPLAY if replay else ()), *LOOK)


def word_of(shown: str) -> str | None:
    """What the help page says of a key; `None` if no key is shown so."""
    return next((key.help for key in (*ACT, *LOOK) if key.shown == shown), None)
