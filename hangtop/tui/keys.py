"""Every key, once: bindings, footer and help are made from these tables. A key that does something is an entry here and a method
`action_…` of the app or of its page; what changes the run is an entry in `hangtop.actions.registry`.

Textual is not imported here, so that the keys of a config are checked without it."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hangtop.actions.registry import ACTIONS


class Key(Struct, frozen=True):
    """`keys`: as Textual names them. `shown`: as a person reads it. `action`: what it calls; empty where the focused pane or page
    binds it. `word`: in the footer, empty if not there; `role`: its colour. `help`: on the help page. `name`: of the command in
    `[keys]` of a config, and of its binding. `of`: names of the commands whose keys an entry shows that has none of its own.

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
    name: str = ""
    of: tuple[str, ...] = ()


LOOK: tuple[Key, ...] = (
    Key("1", "1", "verdict", "", "the verdict in full, with causes and fixes", name="verdict"),
    Key(shown="2 … 6", help="focus a pane, again: maximise", of=("pane_ranks", "…", "pane_log")),
    Key("tab", "Tab", "next_pane", "", "next pane", bubbles=True, name="next_pane"),
    Key(shown="↑ ↓", help="choose a row, scroll the log", of=("up", "down")),
    Key("enter", "Enter", "detail", "", "detail of the row, or of the finding", bubbles=True, name="detail"),
    Key("escape", "Esc", "back", "", "back", bubbles=True, name="back"),
    Key("d", "d", "side_by_side", "", "the rank beside its peers, or one of them", name="side_by_side"),
    Key("J", "J", "jump", "", "the log: go to a step, time, stage or message", name="jump"),
    Key("slash", "/", "filter", "filter", "filter the log by text, Tab: by regex", name="filter"),
    Key("n", "n", "search(1)", "", "next line with that text", name="find_next"),
    Key("N", "N", "search(-1)", "", "previous line with that text", name="find_before"),
    Key("e", "e", "errors", "errors", "errors and stage lines only", name="errors"),
    Key("f", "f", "follow", "follow", "follow the log", name="follow"),
    Key("left_square_bracket", "[", "file(-1)", "", "log of the file before", name="file_before"),
    Key("right_square_bracket", "]", "file(1)", "", "log of the next file", name="file_next"),
    Key("colon", ":", "ask", "", "ask in SQL what was seen", name="ask"),
    Key("T", "T", "timeline", "", "the whole run on one axis of time", name="timeline"),
    Key("v", "v", "charts", "", "loss, pace, GPUs … over the whole run", name="charts", bubbles=True),
    Key("D", "D", "compare", "", "where this run left a good one", name="compare"),
    Key("t", "t", "theme", "theme", "theme", name="theme"),
    Key("question_mark", "?", "help", "help", "this help", name="help"),
    Key("ctrl+p", "Ctrl-P", "palette", "", "all commands, found by their words", name="palette"),
    Key("ctrl+z", "Ctrl-Z", "suspend_process", "", "to the shell; fg comes back", name="to_shell"),
    Key("q", "q", "quit", "quit", "quit, at once", name="quit"),
)

IN_A_PANE: tuple[Key, ...] = (
    Key(shown="PgUp PgDn", help="ten rows, or a page of the log", of=("page_up", "page_down")),
    Key(shown="Home End", help="first and last row; start and end of the log", of=("first", "last")),
    Key(shown="← →", help="fold and unfold; the log: to the left and right", of=("left", "right")),
    Key(shown="Space", help="fold or unfold; the log: a page on", of=("fold",)),
    Key(shown="o", help="another order (processes, actors)", of=("order",)),
    Key(shown="a", help="all training processes; of Ray its nodes", of=("everything",)),
    Key(shown="x", help="hide this pane; its number shows it again", of=("hide",)),
    Key(shown="+ -", help="this pane higher, lower; or drag the gap", of=("higher", "lower")),
    Key(shown="Shift-← →", help="the left pane narrower, wider; or drag", of=("divide_left", "divide_right")),
    Key(shown="{ }", help="this pane earlier, later; or drag its head", of=("pane_earlier", "pane_later")),
    Key(shown="0", help="all panes in their usual order and size", of=("usual_panes",)),
    Key(shown="w", help="the log: wrap long lines", of=("wrap",)),
    Key(shown="C", help="the log: the colours of the program", of=("ink",)),
    Key(shown="m '", help="the log: mark a line; go to the next mark", of=("mark", "next_mark")),
    Key(shown="y", help="copy, on a page: a fix, the stacks", of=("copy",)),
    Key(shown="i", help="verdict: run what tells; process: look inside", of=("tell",)),
)
"""For the help page: the panes and pages bind them."""

MOVES: tuple[Key, ...] = (
    *(Key(digit, name=f"pane_{pane}") for digit, pane in zip("23456", ("ranks", "gpus", "procs", "ray", "log"), strict=True)),
    Key("shift+tab", name="pane_before", help="the pane before"),
    Key("up", name="up"),
    Key("down", name="down"),
    Key("left", name="left"),
    Key("right", name="right"),
    Key("pageup", name="page_up"),
    Key("pagedown", name="page_down"),
    Key("home,g", name="first"),
    Key("end,G", name="last"),
    Key("space", name="fold"),
    Key("o", name="order"),
    Key("a", name="everything"),
    Key("x", name="hide"),
    Key("plus,equals_sign", name="higher"),
    Key("minus", name="lower"),
    Key("shift+left", name="divide_left"),
    Key("shift+right", name="divide_right"),
    Key("left_curly_bracket", name="pane_earlier"),
    Key("right_curly_bracket", name="pane_later"),
    Key("0", name="usual_panes"),
    Key("y", name="copy"),
    Key("w", name="wrap"),
    Key("C", name="ink"),
    Key("m", name="mark"),
    Key("apostrophe", name="next_mark"),
)
"""Commands that mean something of their own in each pane and on each page, which binds them by name."""

STACKS_PAGE: tuple[Key, ...] = (
    Key("enter", "Enter", word="unfold", name="detail"),
    Key("s", "s", "again", "take again", name="stacks"),
    Key("slash", "/", word="ranks, function", name="filter"),
    Key("a", "a", "threads", "all threads", name="everything"),
    Key("y", "y", "copy", "copy", name="copy"),
    Key("w", "w", "save", "save", name="save"),
    Key("l", "l", "locals", "locals", name="locals"),
    Key("v", "v", "native", "native", name="native"),
    Key("x", action="far_task", name="far_task", help="stacks of other nodes by a task there"),
)
"""Of the stacks page alone; so are those of the verdict's page. The page itself says when `x` helps."""

VERDICT_PAGE: tuple[Key, ...] = (
    Key(shown="↑↓", word="choose", of=("up", "down")),
    Key("enter", "Enter", word="its line", name="detail"),
    Key(shown="←→", word="fix", of=("left", "right")),
    Key("left", action="fix(-1)", name="left"),
    Key("right", action="fix(1)", name="right"),
    Key("i", "i", "tell", "tell apart", name="tell"),
    Key("y", "y", "copy", "copy fix", name="copy"),
    Key("w", "w", "why", "why", name="why"),
)

PAIR_PAGE: tuple[Key, ...] = (
    Key(shown="←→", word="beside whom", of=("left", "right")),
    Key("left", action="against(-1)", name="left"),
    Key("right", action="against(1)", name="right"),
    Key("s", "s", "again", "stacks again", name="stacks"),
    Key("x", "x", "swap", "swap", name="swap"),
)

PROCESS_PAGE: tuple[Key, ...] = (
    Key("enter", "Enter", word="its rank", name="detail"),
    Key("i", "i", "inspect", "look inside", name="inspect"),
)

QUERY_PAGE: tuple[Key, ...] = (
    Key("enter", "Enter", word="ask", name="detail"),
    Key("tab", "Tab", word="complete", name="next_pane"),
    Key("colon", ":", word="the line", name="ask"),
    Key("c", "c", "chart", "chart", name="chart"),
    Key(shown="←→", word="columns", of=("left", "right")),
    Key("left", action="aside(-1)", name="left"),
    Key("right", action="aside(1)", name="right"),
    Key("y", "y", "copy", "copy", name="copy"),
)

TIMELINE_PAGE: tuple[Key, ...] = (Key("o", "o", "group", "by rank or node", name="order"),)

CHARTS_PAGE: tuple[Key, ...] = (
    Key(shown="←→", word="cursor", of=("left", "right")),
    Key("left", action="cursor(-1)", name="left"),
    Key("right", action="cursor(1)", name="right"),
    Key("shift+left", action="cursor(-10)", name="far_left", help="ten columns to the left"),
    Key("shift+right", action="cursor(10)", name="far_right", help="ten columns to the right"),
    Key("plus,equals_sign", "+", "zoom(0.5)", "closer", name="closer"),
    Key("minus", "-", "zoom(2.0)", "wider", name="wider"),
    Key("o", "o", "lay_over", "another run", "another run over it", name="lay_over"),
    Key("enter", "Enter", word="by rank", name="detail"),
)

REPLAY: tuple[Key, ...] = (
    Key("p", "p", "pause", "pause", "pause or go on", name="pause"),
    Key("less_than_sign,comma", "<", "seek(-30)", "back 30 s", "30 s back", name="seek_back"),
    Key("greater_than_sign,full_stop", ">", "seek(30)", "on 30 s", "30 s on", name="seek_on"),
)
"""Only in a replay."""

TEXTUAL_NAMES = {"!": "exclamation_mark"}

ACT: tuple[Key, ...] = (
    Key("s", "s", "act('stacks')", "stacks", "stacks of all ranks, taken again", name="stacks"),
    Key("b", "b", "act('bundle')", "bundle", "bundle the evidence for a bug report", live=True, name="bundle"),
    *(
        Key(
            TEXTUAL_NAMES.get(do.key, do.key),
            do.key,
            f"act('{do.name}')",
            do.word,
            do.help,
            dangerous=True,
            name=do.name.replace(" ", "_"),
        )
        for do in ACTIONS
        if do.key
    ),
)
"""Evidence of the run, and what a person can do to it: `hangtop.tui.open_action` opens it."""

NEVER_DROPPED = ("back", "help", "quit")
DROPPED_FIRST = ("theme", "follow", "recover", "ray_restart", "clean", "restart")
DROPPED_FIRST_WHEN_OVER = ("theme", "follow", "recover", "ray_restart", "stop", "stacks", "restart")
DROPPED_FIRST_WHEN_IT_STANDS = ("theme", "follow", "errors", "filter", "clean", "ray_restart")
"""The order in which a narrow footer drops commands; then the others from the end. Of a run that stands it keeps stacks, bundle,
stop, restart and recover."""

PAGE_KEYS = tuple(replace(key, word=key.word or key.help) for key in LOOK if key.name in (*NEVER_DROPPED, "theme"))
"""In the footer of every page."""


def all_keys(*, read_only: bool, replay: bool) -> tuple[Key, ...]:
    """The keys that do something, in the order of the footer."""
    acts = (key for key in ACT if not ((read_only and key.dangerous) or (replay and (key.dangerous or key.live))))
    return (*acts, *(REPLAY if replay else ()), *LOOK)


def word_of(shown: str) -> str | None:
    """What the help page says of a key; `None` if no key is shown so."""
    return next((key.help for key in (*ACT, *LOOK) if key.shown == shown), None)
