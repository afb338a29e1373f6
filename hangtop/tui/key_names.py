"""Names of keys: as a person types them into a config, as Textual calls them, as they are shown. Pure, and without Textual."""

from __future__ import annotations

import re
import string
import unicodedata

NAMES: dict[str, str] = {
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "shift+left": "Shift-←",
    "shift+right": "Shift-→",
    "space": "Space",
    "backspace": "Backspace",
    "insert": "Ins",
    "delete": "Del",
    "home": "Home",
    "end": "End",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
"""As Textual calls a key: as it is shown."""
TYPED = {shown.casefold(): name for name, shown in NAMES.items()} | {name: name for name in NAMES} | {"esc": "escape"}
RENAMED = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""What Textual calls otherwise than Unicode does."""
LEAVES = ("c", "q")
"""Ctrl with these leaves hangtop, whatever it shows."""
SAME_IN_A_TERMINAL = {"i": "Tab", "m": "Enter", "h": "Backspace", "j": "Enter"}
_CTRL = re.compile(r"(?:ctrl|control|c)[-+](.)", re.IGNORECASE)
KNOWN = "a character, F1 … F12, Enter, Esc, Tab, Space, Home, End, PgUp, PgDn, Ins, Del, Up, Down, Left, Right, Ctrl-A …"


def key_name(typed: str) -> str:
    """The key as Textual calls it. Raises `ValueError` that says why there is none."""
    if len(typed) == 1 and typed.isascii() and typed.isprintable() and not typed.isspace():
        return typed if typed.isalnum() else _name_of(typed)
    if (name := TYPED.get(typed.casefold())) is not None:
        return name
    if (found := _CTRL.fullmatch(typed)) is None or not ("a" <= (letter := found[1].lower()) <= "z"):
        raise ValueError(f"{typed!r} is no key: there are {KNOWN}")
    if letter in LEAVES:
        raise ValueError(f"Ctrl-{letter.upper()} always leaves hangtop")
    if letter in SAME_IN_A_TERMINAL:
        raise ValueError(f"Ctrl-{letter.upper()} is {SAME_IN_A_TERMINAL[letter]} for a terminal")
    return f"ctrl+{letter}"


def shown_key(name: str) -> str:
    """As a person reads it."""
    if name.startswith("ctrl+"):
        return f"Ctrl-{name.removeprefix('ctrl+').upper()}"
    return NAMES.get(name) or SIGNS.get(name, name)


def _name_of(character: str) -> str:
    """`!` is exclamation_mark."""
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return RENAMED.get(name, name)


SIGNS = {_name_of(sign): sign for sign in string.punctuation}
