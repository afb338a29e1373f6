"""What binds the keys of `hangtop.tui.keys` to their actions. Each binding carries the name of its command, by which Textual's
keymap gives it the keys that a person chose."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding, BindingType

from hangtop.tui.keys import ACT, LOOK, MOVES, REPLAY, Key

NAMED = {key.name: key for key in (*LOOK, *MOVES)}


def bindings(keys: Iterable[Key]) -> list[BindingType]:
    """What binds the keys of a page to its actions."""
    return [Binding(key.keys, key.action, key.word, id=key.name or None) for key in keys if key.action]


def local(**actions: str) -> list[BindingType]:
    """What a pane or a page does for commands of these names: `local(up="choose(-1)")`."""
    return [Binding(NAMED[name].keys, action, name, show=False, id=name) for name, action in actions.items()]


def bound_keys(panes: Iterable[tuple[str, str]]) -> list[BindingType]:
    """Bindings of every key, and of each pane by (id, title). Keys of `ACT` bubble, so that a page may use them itself."""
    table = [*((key, key.bubbles) for key in (*LOOK, *REPLAY)), *((key, True) for key in ACT)]
    keys = [
        Binding(key.keys, key.action, key.help, show=False, priority=not bubbles, id=key.name)
        for key, bubbles in table
        if key.keys and key.action
    ]
    digits = [
        Binding(NAMED[f"pane_{id_}"].keys, f"pane('{id_}')", title, show=False, priority=True, id=f"pane_{id_}")
        for id_, title in panes
    ]
    return [*keys, *digits, Binding("ctrl+c,ctrl+q", "leave", "quit", show=False, priority=True)]
