"""The last line of an action's dialog: its buttons and keys. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hangtop.render.spans import Row
from hangtop.tui.running_action import RunningAction


def buttons(verb: str, *, armed: bool, word: str, typed: str, edit: Iterable[tuple[str, str]], blocked: str) -> tuple[Row, Row]:
    """(buttons, keys) of a plan that waits for its answer. `armed`: Enter carries it out. `word`: what must be typed first.
    `edit`: keys that change it. `blocked`: why Enter does not carry it out now; empty when it does."""
    short = verb.split()[0].lower()
    if blocked:
        return ((" Cancel ", "accent reverse"), ("   ", ""), (f"{verb}: {blocked}", "muted")), key_words(
            (*edit, ("Esc", "cancel"))
        )
    if word:
        asked: Row = ((f"type {word} ", "bad bold"), (f"{typed}_", "ink bold reverse" if armed else "ink bold"))
        enter = ("Enter", short if armed else "–" if typed else "cancel")
        return asked, key_words((*edit, enter, ("Esc", "cancel")))
    cancel, do = ("muted", "bad bold reverse") if armed else ("accent reverse", "bad bold")
    both: Row = ((" Cancel ", cancel), ("   ", ""), (f" {verb} ", do))
    if armed:
        return both, key_words((*edit, ("Enter", short), ("←", "back"), ("Esc", "cancel")))
    return both, key_words((*edit, ("Enter", "cancel"), ("→ Enter", short), ("Esc", "cancel")))


def at_work(deed: RunningAction) -> tuple[Row, Row]:
    """(what it does, keys) of an action under way."""
    back = ("Esc", "back, it goes on")
    if deed.breaking_off:
        return (("breaking off …", "warn"),), key_words((back,))
    keys = (("x", "break off"), back) if deed.can_break_off else (back,)
    return (("at work …", "muted"),), key_words(keys)


def key_words(pairs: Iterable[tuple[str, str]]) -> Row:
    """Three spans each."""
    row: list[tuple[str, str]] = []
    for key, what in pairs:
        row += [("   " if row else "", ""), (f"{key} ", "accent bold"), (what, "muted")]
    return tuple(row)
