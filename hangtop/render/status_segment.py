"""What is said of the runs here, in one short line: for a status line, or a shell. Pure.

tmux reads what a command prints as a format of its own (tmux(1), STYLES): `#[…]` is a style, and any other `#` may begin one.
So foreign text has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common import text
from hangtop.common.text import printable
from hangtop.monitor.told_state import ToldState
from hangtop.render.spans import Row, Span, cut
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
    step = f" {progress}" if (progress := step_of(worst)) else ""
    title = cut(((worst.title, "muted"),), TITLE_CELLS)
    more: Row = ((say(f" +{len(told) - 1}"), "muted"),) if len(told) > 1 else ()
    return (
        brief_badge(worst, now, filled=True),
        (" ", ""),
        *title,
        (step, ""),
        *more,
    )


def brief_badge(told: ToldState, now: float, *, filled: bool) -> Span:
    """The verdict, and of a run that is silent for how long. `filled`: a grave one is reversed."""
    look, silent_s = verdict_label(told.verdict), told.silent_s(now)
    age = f" {text.duration(silent_s)}" if silent_s is not None and (look.fill or told.word in ("slow", "waiting")) else ""
    return f"{look.sign} {look.word}{age}", f"{look.role} bold{' reverse' if filled and look.fill else ''}"


def step_of(told: ToldState) -> str:
    """`120/400`; empty where no step is known."""
    return "" if told.step is None else f"{told.step:,}" + ("" if told.total is None else f"/{told.total:,}")


def for_tmux(row: Row, *, colour: bool = True) -> str:
    """The row with tmux's styles."""
    return "".join(_styled(printable(words).replace("#", ""), role, colour=colour) for words, role in row)


def _styled(words: str, role: str, *, colour: bool) -> str:
    name, *more = role.split() or [""]
    hue = STYLES.get(name, "")
    styles = [*([hue] if hue and (colour or not hue.startswith("fg=")) else []), *more]
    return f"#[{','.join(styles)}]{words}#[default]" if styles and words else words
