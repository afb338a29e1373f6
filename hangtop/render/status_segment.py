"""What is said of the runs here, in one short line: for a status line, or a shell. Pure.

tmux reads what a command prints as a format of its own (tmux(1), STYLES): `#[…]` is a style, and any other `#` may begin one.
So foreign text has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common import text
from hangtop.common.text import printable
from hangtop.monitor.told_state import ToldState
from hangtop.render.spans import Row, cut
from hangtop.render.verdict_labels import verdict_label
from hangtop.translations import say

TITLE_CELLS = 24
STYLES = {"bad": "fg=red", "warn": "fg=yellow", "ok": "fg=green", "muted": "dim"}
"""The terminal's own colours, which its person chose."""


def segment(told: Sequence[ToldState], now: float) -> Row:
    """The gravest run, and how many others there are; empty without any."""
    if not told:
        return ()
    worst = max(told, key=lambda each: (each.verdict.state.urgency, each.at))
    look = verdict_label(worst.verdict)
    silent = worst.silent_s(now)
    age = f" {text.duration(silent)}" if silent is not None and (look.fill or worst.word in ("slow", "waiting")) else ""
    step = "" if worst.step is None else f" {worst.step:,}" + ("" if worst.total is None else f"/{worst.total:,}")
    title = cut(((worst.title, "muted"),), TITLE_CELLS)
    more: Row = ((say(f" +{len(told) - 1}"), "muted"),) if len(told) > 1 else ()
    return (
        (f"{look.sign} {look.word}{age}", f"{look.role} bold{' reverse' if look.fill else ''}"),
        (" ", ""),
        *title,
        (step, ""),
        *more,
    )


def for_tmux(row: Row, *, colour: bool = True) -> str:
    """The row with tmux's styles."""
    return "".join(_styled(printable(words).replace("#", ""), role, colour=colour) for words, role in row)


def _styled(words: str, role: str, *, colour: bool) -> str:
    name, *more = role.split() or [""]
    hue = STYLES.get(name, "")
    styles = [*([hue] if hue and (colour or not hue.startswith("fg=")) else []), *more]
    return f"#[{','.join(styles)}]{words}#[default]" if styles and words else words
